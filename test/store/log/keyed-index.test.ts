import { expect, test } from 'vitest'
import { openStore } from '../../support/store.ts'
import { appendOf } from '../append-of.ts'

test('many texts are looked up at once, in their order; unknown ones are left out', async () => {
  const store = await openStore()
  const texts = Array.from({ length: 250 }, (_, i) => `text ${i}`)
  const known = texts.filter((_, i) => i % 2 === 0)
  const indexEntries = known.map(text => ({ kind: 'word', digest: store.digest('word', text), value: `of ${text}` }))
  indexEntries.push({ kind: 'other', digest: store.digest('word', 'text 1'), value: 'another kind' })
  await store.append(appendOf('words', 'any', [{}], { indexEntries }))
  const found = await store.lookUpAll('word', [...texts.toReversed(), ...texts])
  expect([...found]).toEqual(known.toReversed().map(text => [text, `of ${text}`]))
  expect(await store.lookUp('word', 'text 2')).toBe('of text 2')
  expect(await store.lookUp('word', 'text 3')).toBeUndefined()
})
