import { hash } from 'node:crypto'
import { CompiledQuery } from 'kysely'
import { expect, test } from 'vitest'
import { Tree, treeRoot } from '../../src/store/log/tree.ts'
import { views } from '../../src/views/views.ts'
import { rootsOver } from '../proof/roots-over.ts'
import { openStore } from '../support/store.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { appendOf } from './append-of.ts'
import { checkAgainstModel } from './model-log.ts'

const open = (path: string) => openStore({ path, views })

test('appends by two processes, one by one or concurrent, match a trivial model of a log', () =>
  checkAgainstModel(() => {
    const path = temporaryStore()
    return () => open(path)
  }, 60))

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

test('the root of a tree of any size matches RFC 6962', () => {
  const sizes = [1, 2, 3, 7, 255, 256, 257, 511, 512, 513, 1_000, 65_535, 65_536, 65_537]
  const tree = new Tree()
  const leaves = Array.from({ length: 65_537 }, (_, i) => hash('sha256', `leaf ${i}`))
  const rootOf = rootsOver(leaves)
  for (const [i, leaf] of leaves.entries()) {
    tree.add(Buffer.from(leaf, 'hex'))
    if (sizes.includes(i + 1)) expect(tree.root()).toBe(rootOf(0, i + 1))
  }
})

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
