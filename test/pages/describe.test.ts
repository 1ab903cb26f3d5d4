import { expect, test } from 'vitest'
import { describeEvent, describeState } from '../../src/pages/describe.ts'
import labels from '../../src/pages/labels.json' with { type: 'json' }
import words from '../../src/pages/words.json' with { type: 'json' }
import { getLanguageWords } from '../../src/pages/words.ts'

test('each word of the pages is in Portuguese and in English', () => {
  const pairs = Object.values({ ...words, ...labels }).flatMap(texts => Object.values<string[]>(texts))
  expect(pairs.filter(pair => pair.length !== 2 || pair.includes(''))).toEqual([])
})

test('a drift of a subscription is told by what is true of each: that it differs, and whose its secrets are', () => {
  const tell = (generation: number | null, language: 'en' | 'pt-BR') =>
    describeEvent({ type: 'subscription.drifted', data: { generation } }, getLanguageWords(language))
  expect(tell(null, 'en')).toBe("The portal's entry differs from what was known: its secrets are not ours")
  expect(tell(2, 'pt-BR')).toMatch(/difere do que se conhecia: os segredos são da geração 2$/)
})

test('a service is said to have declined or answered a call only where it did', () => {
  for (const [state, reason, said] of [
    ['declined', 'the validation service answered 422', 'declined by the service'],
    ['declined', 'it was found out', 'ended'],
    ['settled', '', 'answered'],
    ['cancelled', 'cancelled by effect.withdrawn', 'withdrawn: it was given up, or another call replaces it'],
    ['settled', 'the consent is now ATIVO', 'ended'],
  ] as const)
    expect(describeState({ state, reason }, getLanguageWords('en'))).toBe(said)
})
