import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import { type Connection, type Statement, type Steps, storeConformance } from './index.ts'

type Change = (sql: string) => string

/** Runs the suite on connections that are broken in some way, and gives the names of the tests that failed. */
async function failing(breaking: (connection: Connection) => Connection, isKept = true): Promise<string[]> {
  const bodies: { name: string; body: () => Promise<void> }[] = []
  const harness = {
    describe: (_: string, body: () => void) => body(),
    test: (name: string, body: () => Promise<void>) => bodies.push({ name, body }),
    expect,
  }
  storeConformance(harness, () => {
    const path = isKept ? join(mkdtempSync(join(tmpdir(), 'averba-broken-')), 'log.sqlite') : ':memory:'
    return async () => breaking(await openSqlite(path))
  })
  const failed: string[] = []
  for (const { name, body } of bodies) await body().catch(() => failed.push(name))
  return failed
}

/** The same connection, but for what is given. */
function otherwise(connection: Connection, change: Partial<Connection>): Connection {
  const { dialect, compiler, listTables, foreignWrites } = connection
  return {
    ...{ dialect, compiler, listTables, foreignWrites },
    transact: steps => connection.transact(steps),
    read: steps => connection.read(steps),
    readOnly: (query, check) => connection.readOnly(query, check),
    emptyJournal: () => connection.emptyJournal(),
    rewrite: () => connection.rewrite(),
    searchFile: pieces => connection.searchFile(pieces),
    close: () => connection.close(),
    ...change,
  }
}

/** Statements of the steps that are said in other words. */
const reworded = (change: Change) => (connection: Connection) =>
  otherwise(connection, {
    transact: steps => connection.transact(() => rewording(steps, change)),
    read: steps => connection.read(() => rewording(steps, change)),
  })

function* rewording<T>(steps: () => Steps<T>, change: Change): Steps<T> {
  const work = steps()
  let step = work.next()
  while (!step.done) {
    const asked = step.value
    if ('attempt' in asked) step = work.next(yield { attempt: () => rewording(asked.attempt, change) })
    else step = work.next(yield { ...asked, sql: change(asked.sql) })
  }
  return step.value
}

/** Every second statement is answered by itself, outside of the reading that it belongs to. */
const readingByStatement = (connection: Connection) =>
  otherwise(connection, {
    async read<T>(steps: () => Steps<T>): Promise<T> {
      const work = steps()
      let step = work.next()
      while (!step.done) {
        const asked = step.value as Statement // A reading asks for nothing else.
        const one = function* (): Steps<readonly unknown[]> {
          return yield asked
        }
        step = work.next(await connection.read(one))
      }
      return step.value
    },
  })

/** Steps that throw end like others. */
const committingAlways = (connection: Connection) =>
  otherwise(connection, {
    async transact<T>(steps: () => Steps<T>): Promise<T> {
      let thrown: { readonly error: unknown } | undefined
      const made = await connection.transact(function* (): Steps<T | undefined> {
        try {
          return yield* steps()
        } catch (error) {
          thrown = { error }
          return undefined
        }
      })
      if (thrown) throw thrown.error
      return made as T // It is there where nothing was thrown.
    },
  })

const inTurn = (from: string, to: string) => reworded(sql => sql.replace(from, to))

test.each<[string, (connection: Connection) => Connection, string]>([
  ['commits what threw', committingAlways, 'steps that throw leave nothing, however far they came'],
  [
    'reads each statement by itself',
    readingByStatement,
    'a reading sees one state from its first statement to its last, whoever commits meanwhile',
  ],
  [
    'does not hear of other processes',
    connection => otherwise(connection, { foreignWrites: { sql: 'select 1 as seen', parameters: [] } }),
    'positions are dense, versions exact and every view right, whoever appends',
  ],
  [
    'gives the last event for the next',
    inTurn('order by position limit 1', 'order by position desc limit 1'),
    'the next event of some types is the first after a position',
  ],
  [
    'gives due calls in another order',
    inTurn('order by effect.due_at', 'order by -effect.n, effect.due_at'),
    'calls that are due come in the order of their times',
  ],
  [
    'lets anyone keep a follower',
    reworded(sql =>
      sql.startsWith('update follower set lease_until')
        ? sql.replace('lease_owner = ?', '? is not null')
        : sql,
    ),
    'a follower is one store’s at a time, until it lets it go',
  ],
  [
    'lets anyone call a follower failed',
    inTurn(
      'where name = ? and lease_owner = ? and position = ?',
      'where name = ? and ? is not null and position = ?',
    ),
    'a follower is one store’s at a time, until it lets it go',
  ],
  [
    'lets anyone give a lease back',
    inTurn(
      'delete from lease where name = ? and owner = ?',
      'delete from lease where name = ? and ? is not null',
    ),
    'what two take at once one gets, and only that one holds, extends or releases it',
  ],
  [
    'looks for the first of several types alone',
    inTurn('and type in (?,?)', 'and type = ? and ? is not null'),
    'of several types none is passed over, and those between are',
  ],
  [
    'writes no tile of the tree',
    reworded(sql =>
      sql.startsWith('insert into tile')
        ? 'insert into tile (level, number, hashes) select ?, ?, ? where 0'
        : sql,
    ),
    'what was acknowledged is there after closing and opening: events, root, receipt, call and checkpoint',
  ],
])('a store that %s fails the suite', async (_, breaking, name) => {
  expect(await failing(breaking)).toContain(name)
})

test('a store that is gone with its last connection fails the suite, and one that is whole passes', async () => {
  expect(await failing(connection => connection, false)).toContain(
    'what was acknowledged is there after closing and opening: events, root, receipt, call and checkpoint',
  )
  expect(await failing(connection => connection)).toEqual([])
})
