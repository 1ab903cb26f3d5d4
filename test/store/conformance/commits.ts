import { readNewestCheckpoint } from '../../../src/store/checkpoints/checkpoints.ts'
import { treeRoot } from '../../../src/store/log/tree.ts'
import { appendOf, at } from '../append-of.ts'
import { failing } from '../watched.ts'
import { append } from './counting.ts'
import { type Harness, type Place, receiptOf, requesting, type Through, toStream } from './place.ts'

export function failureConformance({ test, expect }: Harness, newPlace: (through: Through) => Place): void {
  test('a failed commit leaves no gap in positions and nothing in the caches', async () => {
    const disk = { isFull: false }
    const store = await newPlace(connection => failing(connection, () => disk.isFull)).open()
    await store.append(toStream('token-a', 'none'))
    disk.isFull = true
    await expect(store.append(toStream('token-a', 1))).rejects.toMatchObject({ message: 'the commit failed' })
    await expect(store.append(toStream('token-c', 'none'))).rejects.toMatchObject({ name: 'RangeError' })
    disk.isFull = false
    expect((await store.append(toStream('token-a', 1))).status).toBe('appended')
    expect((await store.append(toStream('token-c', 'none'))).status).toBe('appended')
    expect((await store.read({})).map(({ position }) => position)).toEqual([1, 2, 3, 4])
  })
}

/** More than a stored subtree covers. */
const many = 300

/** Tests that acknowledged data is there after closing and opening. */
export function keptConformance({ test, expect }: Harness, newPlace: () => Place): void {
  test('events, root, receipt, effect and checkpoint are still there after closing and opening', async () => {
    const place = newPlace()
    const store = await place.open()
    await append(store, many)
    await store.append(appendOf('token-a', 'none', [{ effects: requesting }], { receipt: receiptOf('c1') }))
    const [root, all] = [await store.database.read(treeRoot), await store.read({ limit: many + 10 })]
    const { note } = await store.checkpoint()
    await store.close()
    const again = await place.open()
    expect(await again.read({ limit: many + 10 })).toEqual(all)
    expect(await again.database.read(treeRoot)).toBe(root)
    expect(await again.receipt('c1')).toMatchObject({ code: 'accepted', effect: 'token-a/1/0' })
    expect(await again.dueEffects(Date.parse(at))).toEqual(['token-a/1/0'])
    expect((await again.database.read(readNewestCheckpoint))?.note).toBe(note)
    // The tree continues from its frontier.
    await append(again, many)
    await again.close()
    expect((await (await place.open()).checkpoint()).size).toBe(all.length + many)
  })
}
