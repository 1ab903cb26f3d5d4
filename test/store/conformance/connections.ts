import { type Connection, each, first, rows, type Steps } from '../../../src/store/database/connection.ts'
import type { Connect, Harness } from './place.ts'

const create = { sql: 'create table word (number integer primary key, text text not null)', parameters: [] }
const insert = 'insert into word (number, text) values (?, ?)'
const count = { sql: 'select count(*) as n from word', parameters: [] }

/** How often one read counts, and how many rows each insert adds. */
const [counts, rowsAtOnce] = [20, 50]

function* words(from: number): Steps<void> {
  const numbers = Array.from({ length: rowsAtOnce }, (_, i) => from + i)
  yield* each(insert, numbers, number => [number, 'palavra'])
}

function* counted(): Steps<number> {
  return Number((yield* first<{ n: number | string }>(count))?.n)
}

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
  const onConnection = (name: string, work: (connection: Connection, connect: Connect) => Promise<void>) =>
    test(name, async () => {
      const connect = newDatabase()
      const connection = await connect()
      await connection.transact(() => rows(create))
      await work(connection, connect).finally(() => connection.close())
    })

  onConnection('steps that throw are rolled back', async connection => {
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
  })

  onConnection('numbers of large column types come as JavaScript numbers', async connection => {
    await connection.transact(function* (): Steps<void> {
      yield { sql: `create table large (n bigint not null)`, parameters: [] }
      yield { sql: 'insert into large (n) values (?)', parameters: [2 ** 40] }
    })
    const found = await connection.read(() =>
      rows({ sql: 'select max(n) as n, count(*) as c from large', parameters: [] }),
    )
    expect(found).toEqual([{ n: 2 ** 40, c: 1 }])
  })

  onConnection('a read sees all of a concurrent transaction or nothing', async connection => {
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
  })

  if (!isShared) return
  onConnection('write transactions exclude each other from their first statement on', async (connection, connect) => {
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
  })

  onConnection('a read sees one snapshot from first to last, whatever others commit', async (connection, connect) => {
    const other = await connect()
    let writing: Promise<void> | undefined
    const between = () => {
      writing = other.transact(() => words(1))
    }
    expect(await connection.read(() => countedOften(between))).toEqual(Array(counts).fill(0))
    await writing
    expect(await connection.read(counted)).toBe(rowsAtOnce)
    await other.close()
  })
}
