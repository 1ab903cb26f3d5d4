import { expect, test } from 'vitest'
import { openStore } from '../../support/store.ts'
import { appendOf } from '../append-of.ts'

test('many texts are looked up at once, in their order; unknown ones are left out', async () => {
  const store = await openStore()
  const texts = Array.from({ length: 250 }, (_, i) => `text ${i}`)
  const known = texts.filter((_, i) => i % 2 === 0)
  const indexEntries = known.map(text => ({ kind: 'word', digest: store.digest('word', text), value: `of ${text}` }))
  await store.append(appendOf('words', 'any', [{}], { indexEntries }))
  await store.append(
    appendOf('others', 'any', [{}], {
      indexEntries: [{ kind: 'other', digest: store.digest('word', 'text 1'), value: 'another kind' }],
    }),
  )
  const found = await store.lookUpAll('word', [...texts.toReversed(), ...texts])
  expect([...found]).toEqual(known.toReversed().map(text => [text, `of ${text}`]))
  expect(await store.lookUp('word', 'text 2')).toBe('of text 2')
  expect(await store.lookUp('word', 'text 3')).toBeUndefined()
})

test('an append conflicts when one of its entries was indexed meanwhile, also by one of its own batch', async () => {
  const store = await openStore()
  const entryOf = (text: string, replaces?: string) => ({
    ...{ kind: 'word', digest: store.digest('word', text), value: `of ${text}` },
    ...(replaces !== undefined && { replaces }),
  })
  const append = (...indexEntries: ReturnType<typeof entryOf>[]) =>
    store.append(appendOf('words', 'any', [{}], { indexEntries }))
  expect(await append(entryOf('a'))).toMatchObject({ status: 'appended' })
  const many = Array.from({ length: 150 }, (_, i) => entryOf(`many ${i}`))
  expect(await append(...many, entryOf('a'))).toMatchObject({ status: 'conflict' })
  expect(await append(...many, entryOf('a', 'of a'))).toMatchObject({ status: 'appended' })
  const both = await Promise.all([append(entryOf('c')), append(entryOf('d'), entryOf('c'))])
  expect(both.map(({ status }) => status)).toEqual(['appended', 'conflict'])
  expect(await store.lookUp('word', 'd')).toBeUndefined()
})
