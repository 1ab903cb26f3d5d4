import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { CompiledQuery } from 'kysely'
import { describe, expect, test, vi } from 'vitest'
import { attempt, each, rows } from '../../../src/store/database/connection.ts'
import { migrationsFrom } from '../../../src/store/database/migrations.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import type { Store } from '../../../src/store/store.ts'
import { views } from '../../../src/views/views.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { openStore } from '../../support/store.ts'
import { temporaryFolder, temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { storeConformance } from '../conformance/index.ts'

const open = (path: string) => openStore({ path, views })
const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

/** A connection to a file, which tells what a host reads from it. */
async function connect(path = temporaryStore()) {
  const connection = closeAtEnd(await openSqlite(path))
  const ask = (sql: string, ...parameters: unknown[]) => connection.readOnly(CompiledQuery.raw(sql, parameters))
  return { path, connection, ask }
}

const askViews = async (path = ':memory:') => {
  const store = await open(path)
  return { store, run: (sql: string) => store.viewReader.readOnly(CompiledQuery.raw(sql)) }
}

describe('a SQLite file', () =>
  storeConformance({ describe, test, expect }, () => openSqlite.bind(undefined, temporaryStore())))
describe('memory', () =>
  storeConformance({ describe, test, expect }, () => () => openSqlite(':memory:'), { isShared: false, isKept: false }))

test('a file is opened with synchronous=FULL', async () => {
  const { database } = await open(temporaryStore())
  const select = 'select * from pragma_synchronous, pragma_secure_delete, pragma_cell_size_check, pragma_trusted_schema'
  const rows = await database.readOnly(CompiledQuery.raw(select))
  expect(rows).toEqual([{ synchronous: 2, secure_delete: 1, cell_size_check: 1, trusted_schema: 0 }])
})

test('every file of a new store has mode 0600, and an existing store keeps its mode', async () => {
  const path = temporaryStore()
  const modes = (...ends: string[]) => new Set(ends.map(end => modeOf(`${path}${end}`)))
  const before = process.umask(0o022)
  try {
    const store = await open(path)
    await store.checkpoint()
    expect(modes('', '-wal', '-shm', '.keys', '.mark')).toEqual(new Set(['600']))
    await store.close()
    chmodSync(path, 0o640)
    await open(path)
    expect(modes('', '-wal', '-shm')).toEqual(new Set(['640']))
  } finally {
    process.umask(before)
  }
})

test('a store opened through a dangling link is created at the target with mode 0600', async () => {
  const path = temporaryStore()
  symlinkSync('kept.sqlite', path)
  await open(path)
  expect(modeOf(path)).toBe('600')
  expect(lstatSync(path).isSymbolicLink()).toBe(true)
})

test('opening and rewriting wait for a lock that another program holds', async () => {
  const path = temporaryStore()
  using other = new DatabaseSync(path)
  const whileLocked = <T>(work: () => Promise<T>) => {
    other.exec('begin immediate')
    const working = work()
    other.exec('rollback')
    return working
  }
  const { connection } = await whileLocked(() => connect(path))
  expect(await whileLocked(() => connection.rewrite())).toBe(true)
})

test('a log that another process begins and closes while it is opened is opened', async () => {
  const path = temporaryStore()
  const keyring = async <T>(create: () => Promise<T>) => {
    await (await open(path)).close()
    return create()
  }
  const store = await openStore({ path, medium: { open: () => openSqlite(path), keyring } })
  expect(await store.readAt(1)).toMatchObject({ type: 'log.began' })
})

test('steps that throw STORE_BUSY are not run again', async () => {
  const { connection } = await connect()
  const steps = vi.fn(() => {
    throw new AverbaError('STORE_BUSY', 'another process is doing it')
  })
  await expect(connection.transact(steps)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  expect(steps).toHaveBeenCalledOnce()
})

test('a full disk within an attempt fails the whole transaction', async () => {
  const { connection, ask } = await connect()
  await connection.transact(() => rows({ sql: 'create table wide (bytes blob)', parameters: [] }))
  const failing = connection.transact(function* () {
    for (const sql of ['insert into wide values (zeroblob(10))', 'pragma max_page_count = 20'])
      yield* rows({ sql, parameters: [] })
    yield* attempt(() => each('insert into wide values (zeroblob(?))', [500_000], bytes => [bytes]))
  })
  await expect(failing).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
  expect(await ask('select * from wide')).toEqual([])
})

test('events cannot be updated or deleted by accident', async () => {
  const path = temporaryStore()
  await open(path)
  for (const sql of ["update event set type = 'x'", 'delete from event'])
    expect(() => useDatabase(path, database => database.exec(sql))).toThrow('append-only')
})

test("a host's handle reads views and refuses every other statement", async () => {
  const { run, store } = await askViews(temporaryStore())
  const refused = { code: 'INVALID_INPUT', hint: expect.stringContaining('consents') }
  for (const sql of [
    'select * from secret',
    'select count(*) from owner_key',
    'with x as (select header from event) select * from x',
    'select consent from consents where exists (select 1 from keyed_index)',
    'select consent from consents union select name from stream',
    'select max(position) from event',
    'select * from pragma_optimize',
    'select * from "pragma_OPTIMIZE", json_each(\'[1]\')',
    'select * from pragma_table_list',
    'select * from dbstat',
  ])
    await expect(run(sql), sql).rejects.toMatchObject(refused)
  const insert = "insert into rebuild values ('a', 1, 0)"
  const pragmas = ['synchronous = off', 'query_only = 1', 'foreign_keys = 0', 'secure_delete = off']
  for (const sql of [insert, `${insert} returning view`, ...pragmas.map(each => `pragma ${each}`)])
    await expect(run(sql), sql).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await run(`select 'what?' as "why?"`)).toEqual([{ 'why?': 'what?' }])
  expect(await run('select json_each.value from json_each(\'["a"]\')')).toEqual([{ value: 'a' }])
  expect(await run('select count(*) as n from notifications, json_each(handlers)')).toEqual([{ n: 0 }])
  expect(await run("select count(*) as n from sqlite_schema where name = 'consents'")).toEqual([{ n: 1 }])
  // A rebuild replaces the tables.
  await store.rebuild()
  expect(await run('select count(*) as n from consents, subjects')).toEqual([{ n: 0 }])
  expect(await run("select name from sqlite_schema where name like 'sqlite_stat%'")).toEqual([])
})

describe('an unknown name', () => {
  const openChanged = async (change: string) => {
    const path = temporaryStore()
    const store = await open(path)
    useDatabase(path, database => database.exec(change))
    return store
  }
  const ask = ({ database }: Store, sql: string) => database.readOnly(CompiledQuery.raw(sql))

  test.each(['select * from nobodies', 'select nobody from consents'])('a host asks for: %s', async sql => {
    await expect(ask(await open(':memory:'), sql)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  })

  test.each([
    'alter table rebuild rename column until to upto; update head set schema = 2',
    'alter table rebuild rename column until to upto',
  ])('after another version changed the tables is NOT_OURS (%s)', async change => {
    const [message, hint] = [expect.stringContaining('another version'), expect.stringContaining('Restart')]
    const store = await openChanged(change)
    await expect(store.rebuild()).rejects.toMatchObject({ code: 'NOT_OURS', message, hint })
  })

  test('of a table that is missing in the log is CORRUPT', async () => {
    const store = await openChanged('drop table rebuild')
    await expect(store.rebuild()).rejects.toMatchObject({ code: 'CORRUPT' })
    await expect(ask(store, 'select * from consent')).rejects.toMatchObject({ code: 'CORRUPT' })
  })
})

describe('a file is not opened', () => {
  /** Makes a closed log, and edits it. */
  const given = async (edit: (path: string) => void) => {
    const path = temporaryStore()
    await (await open(path)).close()
    edit(path)
    return path
  }

  test('that is no database, and it is closed', async () => {
    const path = temporaryStore()
    writeFileSync(path, 'not a database, and too long to pass for an empty file\n'.repeat(50))
    const closed = vi.spyOn(DatabaseSync.prototype, 'close')
    await expect(open(path)).rejects.toMatchObject({ code: 'NOT_OURS' })
    expect(closed).toHaveBeenCalledTimes(1)
    closed.mockRestore()
  })

  test.each([
    [
      'of a newer version',
      () => given(path => useDatabase(path, database => database.exec('update head set schema = 99'))),
      { code: 'NOT_OURS', hint: 'Update averba' },
    ],
    [
      'in a missing folder',
      async () => join(temporaryStore(), 'no', 'log'),
      { name: 'AverbaError', code: 'STORE_UNSAFE' },
    ],
  ])('%s', async (_, makePath, error) => {
    await expect(open(await makePath())).rejects.toMatchObject(error)
  })

  test("of another program, or of another log's keyring, also when it is empty, and stays unchanged", async () => {
    const other = await given(() => undefined)
    const withOtherKeys = (path: string) => copyFileSync(`${other}.keys`, `${path}.keys`)
    const [foreign, log, empty] = [temporaryStore(), await given(withOtherKeys), temporaryStore()]
    useDatabase(foreign, database => database.exec('create table customers (name text)'))
    writeFileSync(empty, '')
    withOtherKeys(empty)
    for (const [path, code] of Object.entries({
      [foreign]: 'NOT_OURS',
      [log]: 'KEYS_MISMATCH',
      [empty]: 'KEYS_MISMATCH',
    })) {
      const bytes = readFileSync(path)
      await expect(open(path)).rejects.toMatchObject({ code })
      expect(readFileSync(path).equals(bytes)).toBe(true)
    }
  })

  test('without its keyring, and no new one is created', async () => {
    const path = await given(made => rmSync(`${made}.keys`))
    await expect(open(path)).rejects.toMatchObject({ code: 'KEYS_MISSING' })
    expect(existsSync(`${path}.keys`)).toBe(false)
  })
})

test('a transaction whose first look at the file fails is over', async () => {
  const { ask } = await connect()
  using _get = vi.spyOn(StatementSync.prototype, 'get').mockImplementationOnce(() => {
    throw new Error('the disk')
  })
  await expect(ask('select 1 as a')).rejects.toThrow('the disk')
  expect(await ask('select 1 as a')).toEqual([{ a: 1 }])
})

test('a statement is prepared anew when another process has changed its table', async () => {
  const { path, ask } = await connect()
  const select = () => ask('select * from t')
  useDatabase(path, database => database.exec('create table t (a, b); insert into t values (1, 2)'))
  expect(await select()).toEqual([{ a: 1, b: 2 }])
  using prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const prepared = () => prepare.mock.calls.filter(([sql]) => sql === 'select * from t').length
  await select()
  expect(prepared()).toBe(0)
  useDatabase(path, database => database.exec('drop table t; create table t (b, c, a); insert into t values (2, 3, 1)'))
  expect(await select()).toEqual([{ a: 1, b: 2, c: 3 }])
  // By itself SQLite would give Node 22 and Deno the columns of the former table.
  expect(prepared()).toBe(1)
})

test('a host’s parameter that SQLite does not know is refused, and a statement that writes', async () => {
  const { connection, ask } = await connect()
  await connection.transact(() => rows({ sql: 'create table t (a)', parameters: [] }))
  const refused = { code: 'INVALID_INPUT' }
  for (const value of [new Date(0), {}, true, undefined, new ArrayBuffer(1), 2n ** 63n])
    await expect(ask('select ? as a', value)).rejects.toMatchObject(refused)
  expect(await ask('select ? as a, ? as b', 1, null)).toEqual([{ a: 1, b: null }])
  const insert = 'with x as (select 1 as a) insert into t select a from x returning a'
  await expect(ask(insert)).rejects.toMatchObject({ ...refused, message: expect.stringContaining('only be read') })
  await expect(ask('select 1; delete from t')).rejects.toMatchObject(refused)
  expect(await ask('select * from t')).toEqual([])
})

test.each([
  ['select ? as a, ? as b', 'differ in number', 'one value for each parameter'],
  ['select 1 as a', 'differ in number', 'one value for each parameter'],
  ['select 9007199254740993 as a where ? = 1', 'its result is too large', 'as text'],
  ["select ? + json_extract('{', '$.a') as a", 'cannot run it', 'cause'],
  ["select ? as a limit 'all'", 'cannot run it', 'cause'],
])('a statement of a host that fails by its values is refused (%s)', async (sql, message, hint) => {
  const { ask } = await connect()
  const refused = { message: expect.stringContaining(message), hint: expect.stringContaining(hint) }
  await expect(ask(sql, 1)).rejects.toMatchObject({ code: 'INVALID_INPUT', ...refused })
})

test('a statement of a host may have comments before it and behind its semicolon', async () => {
  const { ask } = await connect()
  expect(await ask("/* all */ select '--' as a; -- done\n/* ; */")).toEqual([{ a: '--' }])
  await expect(ask('select 1 as a; -- and\nselect 2')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  await expect(ask('-- select\npragma query_only = 1')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test.each([
  ['is taken for the log that another process makes in it', 'sqlite_schema', () => undefined],
  ['is the log that is restored in its place', 'begin immediate', (path: string) => rmSync(path)],
])('a new file %s while it is opened', async (_, sql, before) => {
  const path = temporaryStore()
  const real = DatabaseSync.prototype.prepare
  let isMade = false
  using prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  prepare.mockImplementation(function (this: DatabaseSync, text: string) {
    if (!isMade && text.includes(sql)) {
      isMade = true
      before(path)
      useDatabase(path, other => other.exec(migrationsFrom(0, 'sqlite').join(';')))
    }
    return real.call(this, text)
  })
  const { connection } = await connect(path)
  expect(await connection.read(() => rows(connection.listTables))).toContainEqual({ name: 'head' })
})

test('a path is never taken for an address', async () => {
  const before = process.cwd()
  process.chdir(temporaryFolder())
  try {
    await connect('file:log?mode=memory')
    expect(existsSync('file:log?mode=memory')).toBe(true)
  } finally {
    process.chdir(before)
  }
})
