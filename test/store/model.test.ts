import { hash } from 'node:crypto'
import { CompiledQuery } from 'kysely'
import { expect, test } from 'vitest'
import { Tree, treeRoot } from '../../src/store/log/tree.ts'
import { views } from '../../src/views/views.ts'
import { rootsOver } from '../proof/roots-over.ts'
import { openStore } from '../support/store.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { appendOf } from './append-of.ts'
import { checkAgainstModel, describeResult } from './model-log.ts'

const open = (path: string) => openStore({ path, views })

test('appends by two processes, one by one or concurrent, match a trivial model of a log', () =>
  checkAgainstModel(() => {
    const path = temporaryStore()
    return () => open(path)
  }, 60))

test('an entry that two appends of one commit write does not replace an older one unseen', async () => {
  const store = await open(':memory:')
  const entry = { kind: 'k', digest: store.digest('k', 'three') }
  const append = (value: string, replaces?: string) =>
    store.append(
      appendOf('bench-a', 'any', [], {
        indexEntries: [{ ...entry, value, ...(replaces !== undefined && { replaces }) }],
      }),
    )
  await append('x')
  const made = await Promise.all([append('y'), append('z', 'y')])
  expect(made.map(describeResult)).toEqual(['conflict', 'conflict'])
  expect(await store.lookUp('k', 'three')).toBe('x')
  expect((await Promise.all([append('y', 'x'), append('z', 'y')])).map(describeResult)).toEqual([
    'appended 1',
    'appended 1',
  ])
  expect(await store.lookUp('k', 'three')).toBe('z')
})

test('an append that cannot be written fails alone and does not change its neighbours', async () => {
  const store = await open(':memory:')
  const one = (stream: string, n: number) => store.append(appendOf(stream, 'none', [{ data: { n } }]))
  // A header has no fractions.
  const made = await Promise.allSettled([one('bench-a', 1), one('bench-b', 0.5), one('bench-b', 2)])
  expect(made.map(each => each.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect((await store.read({ after: 1 })).map(each => [each.position, each.stream, each.data])).toEqual([
    [2, 'bench-a', { n: 1 }],
    [3, 'bench-b', { n: 2 }],
  ])
})

test.each([1, 2, 3, 7, 255, 256, 257, 511, 512, 513, 1_000, 65_535, 65_536, 65_537])(
  'the root of %i leaves matches RFC 6962',
  size => {
    const tree = new Tree()
    const leaves = Array.from({ length: size }, (_, i) => hash('sha256', `leaf ${i}`))
    for (const leaf of leaves) tree.add(Buffer.from(leaf, 'hex'))
    expect(tree.root()).toBe(rootsOver(leaves)(0, size))
  },
)

test('the tree is loaded correctly when its upper levels have many subtrees', async () => {
  const path = temporaryStore()
  const size = 256 * 256 + 256
  const store = await open(path)
  for (let done = 1; done < size; done += 1_000)
    await store.append(appendOf('bench-a', 'any', Array(Math.min(1_000, size - done)).fill({})))
  await store.close()
  const again = await open(path)
  const tree = new Tree()
  const leaves = await again.database.readOnly(CompiledQuery.raw('select leaf from event order by position'))
  for (const { leaf } of leaves as { leaf: Uint8Array }[]) tree.add(leaf) // Its one column.
  expect(tree.size).toBe(size)
  expect(await again.database.read(treeRoot)).toBe(tree.root())
})
