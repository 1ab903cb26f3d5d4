import { expect, test } from 'vitest'
import type { IndexEntry } from '../../../src/store/writing/append.ts'
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

test('an append conflicts when one of its entries was indexed meanwhile, also by one of its own batch', async () => {
  const store = await openStore()
  const entryOf = (text: string, more: Partial<IndexEntry> = {}): IndexEntry => ({
    ...{ kind: 'word', digest: store.digest('word', text), value: `of ${text}`, ...more },
  })
  const append = async (...indexEntries: IndexEntry[]) =>
    (await store.append(appendOf('words', 'any', [{}], { indexEntries }))).status
  expect(await append(entryOf('a'))).toBe('appended')
  const many = Array.from({ length: 150 }, (_, i) => entryOf(`many ${i}`))
  expect(await append(...many, entryOf('a'))).toBe('conflict')
  expect(await append(...many, entryOf('a', { replaces: 'of a' }))).toBe('appended')
  const both = await Promise.all([append(entryOf('c')), append(entryOf('d'), entryOf('c'))])
  expect(both).toEqual(['appended', 'conflict'])
  expect(await store.lookUp('word', 'd')).toBeUndefined()
})
