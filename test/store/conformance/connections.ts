import { type Connection, each, first, type Steps } from '../../../src/store/database/connection.ts'
import type { Connect, Harness } from './harness.ts'

const create = { sql: 'create table word (number integer primary key, text text not null)', parameters: [] }
const insert = 'insert into word (number, text) values (?, ?)'
const count = { sql: 'select count(*) as n from word', parameters: [] }

/** How often one read counts. */
const counts = 20
/** How many rows each insert adds. */
const rowsAtOnce = 50

function* words(from: number): Steps<void> {
  const numbers = Array.from({ length: rowsAtOnce }, (_, i) => from + i)
  yield* each(insert, numbers, number => [number, 'palavra'])
}

function* counted(): Steps<number> {
  return Number((yield* first<{ n: number | string }>(count))?.n)
}

/** Counts many times within one read. */
function* countedOften(between: () => void = () => undefined): Steps<number[]> {
  const seen: number[] = []
  for (let i = 0; i < counts; i++) {
    seen.push(yield* counted())
    if (i === 0) between()
  }
  return seen
}

/** Tests a connection by itself. They cannot show that acknowledged data survives a power cut. */
export function connectionConformance(
  { test, expect }: Harness,
  newDatabase: () => Connect,
  { isShared }: { readonly isShared: boolean },
): void {
  const given = async (work: (connection: Connection, connect: Connect) => Promise<void>) => {
    const connect = newDatabase()
    const connection = await connect()
    await connection.transact(function* (): Steps<void> {
      yield create
    })
    await work(connection, connect).finally(() => connection.close())
  }

  test('steps that throw are rolled back', () =>
    given(async connection => {
      await connection.transact(() => words(1))
      const failing = connection.transact(function* (): Steps<void> {
        yield* words(1_001)
        yield* counted()
        throw new RangeError('enough')
      })
      await expect(failing).rejects.toMatchObject({ message: 'enough' })
      expect(await connection.read(counted)).toBe(rowsAtOnce)
      await connection.transact(() => words(1_001))
      expect(await connection.read(counted)).toBe(2 * rowsAtOnce)
    }))

  test('numbers of large column types come as JavaScript numbers', () =>
    given(async connection => {
      await connection.transact(function* (): Steps<void> {
        yield { sql: `create table large (n bigint not null)`, parameters: [] }
        yield { sql: 'insert into large (n) values (?)', parameters: [2 ** 40] }
      })
      const found = await connection.read(() =>
        first<{ n: number; c: number }>({
          sql: 'select max(n) as n, count(*) as c from large',
          parameters: [],
        }),
      )
      expect(found).toEqual({ n: 2 ** 40, c: 1 })
    }))

  test('a read sees all of a concurrent transaction or nothing', () =>
    given(async connection => {
      for (let round = 0; round < 10; round++) {
        const writing = connection.transact(function* (): Steps<void> {
          yield* words(round * 1_000)
          yield* counted()
          yield* words(round * 1_000 + 500)
        })
        const seen = new Set(await connection.read(() => countedOften()))
        await writing
        expect(seen.size).toBe(1)
        expect(([...seen][0] ?? Number.NaN) % (2 * rowsAtOnce)).toBe(0)
      }
    }))

  if (isShared)
    test('write transactions exclude each other from their first statement on', () =>
      given(async (connection, connect) => {
        const other = await connect()
        await connection.transact(() => words(1))
        function* addOne(): Steps<void> {
          const n = yield* counted()
          // Makes the transaction longer before it writes.
          yield* countedOften()
          yield* each(insert, [1_000 + n], number => [number, 'palavra'])
        }
        const rounds = Array.from({ length: counts }, () => [connection, other]).flat()
        await Promise.all(rounds.map(each => each.transact(addOne)))
        // Two transactions with the same count would violate the primary key.
        expect(await connection.read(counted)).toBe(rowsAtOnce + rounds.length)
        await other.close()
      }))

  if (isShared)
    test('a read sees one snapshot from its first statement to its last, despite other commits', () =>
      given(async (connection, connect) => {
        const other = await connect()
        let writing: Promise<void> | undefined
        const seen = await connection.read(() =>
          countedOften(() => {
            writing = other.transact(() => words(1))
          }),
        )
        await writing
        expect(seen).toEqual(Array.from({ length: counts }, () => 0))
        expect(await connection.read(counted)).toBe(rowsAtOnce)
        await other.close()
      }))
}
