import { expect, test } from 'vitest'
import { type Connection, rows, type Statement, type Steps } from '../../../src/store/database/connection.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { changeRequests, withHook, withHooks } from '../watched.ts'
import { storeConformance } from './index.ts'

type Change = (sql: string) => string

/** Runs one test of the suite on broken connections. The whole of it passes on intact ones: database/sqlite.test.ts. */
async function runBroken(name: string, breaking: (connection: Connection) => Connection, isKept = true) {
  const bodies = new Map<string, () => Promise<void>>()
  const harness = {
    describe: (_: string, body: () => void) => body(),
    test: (name: string, body: () => Promise<void>) => bodies.set(name, body),
    expect,
  }
  storeConformance(harness, () => {
    const path = isKept ? temporaryStore() : ':memory:'
    return async () => breaking(await openSqlite(path))
  })
  const body = bodies.get(name)
  if (!body) throw new TypeError(`The suite has no test "${name}"`)
  await body()
}

const withSql = (change: Change) => (connection: Connection) => {
  const changed = <S extends { readonly sql: string }>(statement: S) => ({ ...statement, sql: change(statement.sql) })
  return withHook(connection, (steps, run) =>
    run(() =>
      changeRequests(steps, asked =>
        'together' in asked ? { together: asked.together.map(changed) } : changed(asked),
      ),
    ),
  )
}

/** Runs every statement of a read in its own transaction. */
const readingByStatement = (connection: Connection) =>
  withHooks(connection, {
    async read(steps, run) {
      const work = steps()
      let step = work.next()
      while (!step.done) {
        const request = step.value as Statement // A read has plain statements only.
        step = work.next(await run(() => rows(request)))
      }
      return step.value
    },
  })

const committingAlways = (connection: Connection) =>
  withHooks(connection, {
    async transact<T>(steps: () => Steps<T>, run: Connection['transact']): Promise<T> {
      const made = await run(function* (): Steps<{ result: T } | { error: unknown }> {
        try {
          return { result: yield* steps() }
        } catch (error) {
          return { error }
        }
      })
      if ('error' in made) throw made.error
      return made.result
    },
  })

const replaceSql = (from: string, to: string) => withSql(sql => sql.replace(from, to))

test.each<[string, (connection: Connection) => Connection, string]>([
  ['commits steps that threw', committingAlways, 'steps that throw are rolled back'],
  [
    'reads each statement in its own transaction',
    readingByStatement,
    'a read sees one snapshot from its first statement to its last, despite other commits',
  ],
  [
    'gives the last event instead of the next',
    replaceSql('order by "position" limit', 'order by "position" desc limit'),
    'the next event of some types is the first one after a position',
  ],
  [
    'lists due effects in another order',
    replaceSql('order by effect.due_at', 'order by -effect.n, effect.due_at'),
    'due effects are listed in the order of their times',
  ],
  [
    "lets any process extend a follower's lease",
    replaceSql(
      'update follower set lease_until = ? where name = ? and lease_owner = ?',
      'update follower set lease_until = ? where name = ? and ? is not null',
    ),
    'work in progress keeps its lease, which no other process extends',
  ],
  [
    "lets any process record a follower's failure",
    replaceSql(
      'where "name" = ? and "lease_owner" = ? and "position" = ?',
      'where "name" = ? and ? is not null and "position" = ?',
    ),
    'a follower belongs to one process until it is released',
  ],
  [
    'lets any process release a lease',
    replaceSql(
      'delete from "lease" where "name" = ? and "owner" = ?',
      'delete from "lease" where "name" = ? and ? is not null',
    ),
    'of two processes that take a lease at once one gets it, and only it can extend or release it',
  ],
  [
    'searches only the first of several types',
    replaceSql('and type in (?,?)', 'and type = ? and ? is not null'),
    'with several types every matching event is found, and the others are skipped',
  ],
  [
    'writes no subtree',
    withSql(sql =>
      sql.startsWith('insert into subtree') ? 'insert into subtree (level, number, hash) select ?, ?, ? where 0' : sql,
    ),
    'events, root, receipt, effect and checkpoint are still there after closing and opening',
  ],
])('a store that %s fails the suite', async (_, breaking, name) => {
  await expect(runBroken(name, breaking)).rejects.toThrow()
  await runBroken(name, connection => connection)
})

test('a store that loses its data with its last connection fails the suite', async () => {
  const name = 'events, root, receipt, effect and checkpoint are still there after closing and opening'
  await expect(runBroken(name, connection => connection, false)).rejects.toThrow()
})
