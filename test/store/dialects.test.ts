import { SqliteQueryCompiler } from 'kysely'
import { expect, test, vi } from 'vitest'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import type { Connection, Steps } from '../../src/store/database/connection.ts'
import { createTables } from '../../src/store/database/schema.ts'
import { claimEffect, countPending, deferEffect, dueEffects } from '../../src/store/ledger/ledger.ts'
import { Projector } from '../../src/store/views/projector.ts'
import { Batch, stageAppend } from '../../src/store/writing/stage.ts'
import { RecentDigests, WriterCache } from '../../src/store/writing/writer-cache.ts'
import { createKeyring } from '../../src/vault/keyring.ts'
import { Vault } from '../../src/vault/vault.ts'
import { views } from '../../src/views/views.ts'
import { openStore } from '../support/store.ts'
import { append, counting } from './conformance/counting.ts'
import { listTables } from './pglite-connection.ts'

/** Cannot run statements: the test only reads them. */
const postgres: Pick<Connection, 'dialect' | 'listTables'> = {
  dialect: 'postgres',
  listTables,
}

/** Lists the statements of some steps with their number of parameters. */
function statementsOf(work: Steps<unknown>): { sql: string; parameters: number }[] {
  const statements: { sql: string; parameters: number }[] = []
  for (let step = work.next(); !step.done; step = work.next([])) {
    const request = step.value
    if ('attempt' in request) statements.push(...statementsOf(request.attempt()))
    else {
      const each = 'forEach' in request ? request.forEach : [request.parameters]
      for (const parameters of each) statements.push({ sql: request.sql, parameters: parameters.length })
    }
  }
  return statements
}

function* appendOne(): Steps<void> {
  const vault = new Vault(createKeyring(systemEntropy), systemEntropy)
  const event = {
    type: 'subject.enrolled',
    data: { subject: 'a', origin: 'host' },
    effects: [{ type: 'e.do', data: {} }],
  }
  const parts = { cpf: { owner: 'subject-a', value: 'x' } }
  const machine = { name: 'subject', version: 1 }
  const [known, recents, batch] = [yield* WriterCache.load(), new RecentDigests(), new Batch()]
  const appended = yield* stageAppend(
    { vault, schemas: {}, cache: known, recents, batch },
    {
      at,
      streams: [{ stream: 'subject-a', expect: 'none' }],
      events: [{ stream: 'subject-a', event, causedBy: 'subject.enrol', machine, parts }],
      receipt: { commandId: 'c', digest: new Uint8Array(), code: 'accepted', detail: '' },
      indexEntries: [{ kind: 'cpf', digest: new Uint8Array(), value: 'a' }],
      recent: { digest: new Uint8Array([1]), since: 0, until: 0 },
    },
  )
  if (appended.status !== 'appended') throw new TypeError(appended.status)
  yield* batch.write(known.tree.takeChanged(), recents)
  yield* new Projector(postgres as Connection, views).project(appended.events, known)
}

const at = '2026-11-20T12:00:00.000Z'
const lease = { now: at, owner: 'o', until: at, latest: at }

test('every step has a PostgreSQL statement with as many placeholders as parameters', () => {
  const connection = postgres as Connection
  const statements = [
    ...statementsOf(appendOne()),
    ...statementsOf(new Projector(connection, views).createTables()),
    ...statementsOf(dueEffects(lease)),
    ...statementsOf(claimEffect({}, 's/1/0', lease)),
    ...statementsOf(deferEffect('s/1/0', at, '', lease)),
  ]
  expect(statements.length).toBeGreaterThan(30)
  const marks = (sql: string) => (sql.match(/\?/g) ?? []).length
  expect(statements.filter(({ sql, parameters }) => marks(sql) !== parameters)).toEqual([])
})

test('an append compiles no query, on a new stream or an existing one: compiling takes as long as running it', async () => {
  const store = await openStore({ views: [...views, counting('counted')] })
  const compile = vi.spyOn(SqliteQueryCompiler.prototype, 'compileQuery')
  statementsOf(countPending())
  expect(compile).toHaveBeenCalledTimes(1)
  statementsOf(appendOne())
  for (let round = 0; round < 2; round++) await append(store, 2)
  expect(compile).toHaveBeenCalledTimes(1)
  compile.mockRestore()
})

test('both dialects have the same tables, with their own column types', () => {
  const names = (dialect: 'sqlite' | 'postgres') =>
    createTables(dialect).flatMap(sql => /^create table (\w+)/.exec(sql)?.[1] ?? [])
  expect(names('postgres')).toEqual(names('sqlite'))
  expect(names('sqlite')).toHaveLength(16)
  expect(createTables('postgres').join(' ')).not.toMatch(/\b(blob|strict|trigger)\b/)
})
