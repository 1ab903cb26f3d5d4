import { withChanges } from '../../../src/store/database/connection.ts'
import type { Harness } from './harness.ts'
import { type Place, type Through, toStream } from './place.ts'

/** Tests a store whose commit fails. */
export function failureConformance({ test, expect }: Harness, newPlace: (through: Through) => Place): void {
  test('a failed commit leaves no gap in positions and nothing in the caches', async () => {
    let isFull = false
    const failing: Through = connection =>
      withChanges(connection, {
        transact: steps =>
          connection.transact(function* () {
            const done = yield* steps()
            if (isFull) throw new RangeError('The disk is full')
            return done
          }),
      })
    const store = await newPlace(failing).open()
    await store.append(toStream('token-a', 'none'))
    isFull = true
    await expect(store.append(toStream('token-a', 1))).rejects.toMatchObject({ message: 'The disk is full' })
    await expect(store.append(toStream('token-c', 'none'))).rejects.toMatchObject({ name: 'RangeError' })
    isFull = false
    expect((await store.append(toStream('token-a', 1))).status).toBe('appended')
    expect((await store.append(toStream('token-c', 'none'))).status).toBe('appended')
    expect((await store.read({})).map(({ position }) => position)).toEqual([1, 2, 3, 4])
  })
}
