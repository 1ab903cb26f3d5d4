import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'
import { expect, test } from 'vitest'
import { systemEntropy } from '../../src/clock.ts'
import { append } from '../../src/store/append.ts'
import type { Connection, Steps } from '../../src/store/connection.ts'
import { claimEffect, deferEffect, dueEffects } from '../../src/store/ledger.ts'
import { Projector } from '../../src/store/projector.ts'
import { createTables, type Schema } from '../../src/store/schema.ts'
import { createKeyring } from '../../src/vault/keyring.ts'
import { Vault } from '../../src/vault/vault.ts'
import { views } from '../../src/views/views.ts'

/** Compiles for PostgreSQL and runs nothing: the statements are what is looked at. */
const postgres: Pick<Connection, 'dialect' | 'compiler'> = {
  dialect: 'postgres',
  compiler: new Kysely<Schema>({
    dialect: {
      createAdapter: () => new PostgresAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: db => new PostgresIntrospector(db),
      createQueryCompiler: () => new PostgresQueryCompiler(),
    },
  }),
}

function statementsOf(work: Steps<unknown>): string[] {
  const statements: string[] = []
  for (let step = work.next(); !step.done; step = work.next([])) statements.push(step.value.sql)
  return statements
}

test('every step of the store compiles for PostgreSQL too', () => {
  const connection = postgres as Connection
  const vault = new Vault(createKeyring(systemEntropy), systemEntropy)
  const projector = new Projector(connection, views)
  const at = '2026-11-20T12:00:00.000Z'
  const event = {
    type: 'subject.enrolled',
    data: { subject: 'a', origin: 'host' },
    effects: [{ type: 'e.do', data: {} }],
  }
  const parts = { cpf: { owner: 'subject-a', value: 'x' } }
  const machine = { name: 'subject', version: 1 }
  const statements = [
    ...statementsOf(
      append(
        connection,
        vault,
        {
          at,
          streams: [{ stream: 'subject-a', expect: 'none' }],
          events: [{ stream: 'subject-a', event, because: 'subject.enrol', machine, parts }],
          receipt: { commandId: 'c', digest: new Uint8Array(), code: 'accepted', detail: '' },
          claims: [{ kind: 'cpf', digest: new Uint8Array(), value: 'a' }],
        },
        (events, position) => projector.project(events, position),
      ),
    ),
    ...statementsOf(projector.createTables()),
    ...statementsOf(dueEffects(connection, at)),
    ...statementsOf(claimEffect(connection, 'x', { now: at, owner: 'o', until: at })),
    ...statementsOf(deferEffect(connection, 'x', at, '')),
  ]
  expect(statements.length).toBeGreaterThan(30)
  expect(statements.filter(sql => sql.includes('?'))).toEqual([])
  expect(statements.filter(sql => /\$1\b/.test(sql)).length).toBeGreaterThan(10)
})

test('the tables are the same in both dialects, in the types of each', () => {
  const names = (dialect: 'sqlite' | 'postgres') =>
    createTables(dialect).flatMap(sql => /^create table (\w+)/.exec(sql)?.[1] ?? [])
  expect(names('postgres')).toEqual(names('sqlite'))
  expect(names('sqlite')).toHaveLength(10)
  expect(createTables('postgres').join(' ')).not.toMatch(/\b(blob|strict|trigger)\b/)
})
