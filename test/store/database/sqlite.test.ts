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
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import { views } from '../../../src/views/views.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { openStore } from '../../support/store.ts'
import { temporaryFolder, temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { storeConformance } from '../conformance/index.ts'

const open = (path: string) => openStore({ path, views })

const suite = { describe, test, expect }
describe('a SQLite file', () =>
  storeConformance(suite, () => {
    const path = temporaryStore()
    return () => openSqlite(path)
  }))
describe('memory', () =>
  storeConformance(suite, () => () => openSqlite(':memory:'), { isShared: false, isKept: false }))

test('a file is opened with synchronous=FULL', async () => {
  const path = temporaryStore()
  const store = await open(path)
  const pragmas = ['synchronous', 'secure_delete', 'cell_size_check', 'trusted_schema']
  const select = `select * from ${pragmas.map(name => `pragma_${name}`).join(', ')}`
  const rows = await store.database.readOnly(CompiledQuery.raw(select))
  expect(rows).toEqual([{ synchronous: 2, secure_delete: 1, cell_size_check: 1, trusted_schema: 0 }])
})

test('every file of a new store has mode 0600, and an existing store keeps its mode', async () => {
  const path = temporaryStore()
  const ends = ['', '-wal', '-shm', '.keys', '.mark']
  const modes = () => ends.map(end => (statSync(`${path}${end}`).mode & 0o777).toString(8))
  const before = process.umask(0o022)
  try {
    const store = await open(path)
    await store.checkpoint()
    expect(modes()).toEqual(ends.map(() => '600'))
    await store.close()
    chmodSync(path, 0o640)
    const again = await open(path)
    expect(modes().slice(0, 3)).toEqual(['640', '640', '640'])
    await again.close()
  } finally {
    process.umask(before)
  }
})

test('a store opened through a dangling link is created at the target with mode 0600', async () => {
  const path = temporaryStore()
  symlinkSync('kept.sqlite', path)
  await (await open(path)).close()
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(lstatSync(path).isSymbolicLink()).toBe(true)
})

test('steps that throw STORE_BUSY are not run again', async () => {
  const connection = closeAtEnd(await openSqlite(temporaryStore()))
  let runs = 0
  const busy = connection.transact(() => {
    runs += 1
    throw new AverbaError('STORE_BUSY', 'another process is doing it')
  })
  await expect(busy).rejects.toMatchObject({ code: 'STORE_BUSY' })
  expect(runs).toBe(1)
})

test('a full disk within an attempt fails the whole transaction', async () => {
  const connection = closeAtEnd(await openSqlite(temporaryStore()))
  await connection.transact(() => rows({ sql: 'create table wide (bytes blob)', parameters: [] }))
  const failing = connection.transact(function* () {
    yield* rows({ sql: 'insert into wide values (zeroblob(10))', parameters: [] })
    yield* rows({ sql: 'pragma max_page_count = 20', parameters: [] })
    yield* attempt(() => each('insert into wide values (zeroblob(?))', [500_000], bytes => [bytes]))
  })
  await expect(failing).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
  expect(await connection.read(() => rows({ sql: 'select * from wide', parameters: [] }))).toEqual([])
})

test('events cannot be updated or deleted by accident', async () => {
  const path = temporaryStore()
  await (await open(path)).close()
  const database = closeAtEnd(new Sqlite(path))
  expect(() => database.exec("update event set type = 'x'")).toThrow('append-only')
  expect(() => database.exec('delete from event')).toThrow('append-only')
})

test("a host's handle reads views and refuses every other statement", async () => {
  const store = await open(':memory:')
  const run = (sql: string) => store.viewReader.readOnly(CompiledQuery.raw(sql))
  expect(await run('select count(*) as n from consents')).toEqual([{ n: 0 }])
  expect(await run(`select 'what?' as "why?"`)).toEqual([{ 'why?': 'what?' }])
  const insert = "insert into rebuild values ('a', 1, 0)"
  const pragmas = ['synchronous = off', 'query_only = 1', 'foreign_keys = 0', 'secure_delete = off']
  for (const sql of [insert, `${insert} returning view`, ...pragmas.map(each => `pragma ${each}`)])
    await expect(run(sql), sql).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test("a host's handle refuses every statement that reads another table than a view's", async () => {
  const path = temporaryStore()
  const store = await open(path)
  const run = (sql: string) => store.viewReader.readOnly(CompiledQuery.raw(sql))
  const refused = [
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
  ]
  for (const sql of refused)
    await expect(run(sql), sql).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      hint: expect.stringContaining('consents'),
    })
  expect(await run('select json_each.value from json_each(\'["a"]\')')).toEqual([{ value: 'a' }])
  expect(await run('select count(*) as n from notifications, json_each(handlers)')).toEqual([{ n: 0 }])
  expect(await run("select count(*) as n from sqlite_schema where name = 'consents'")).toEqual([{ n: 1 }])
  // A rebuild replaces the tables.
  await store.rebuild()
  expect(await run('select count(*) as n from consents, subjects')).toEqual([{ n: 0 }])
  const found = await run("select name from sqlite_schema where name like 'sqlite_stat%'")
  expect(found).toEqual([])
})

describe('an unknown name', () => {
  const openChanged = async (path: string, change: string) => {
    const store = await open(path)
    useDatabase(path, database => database.exec(change))
    return store
  }

  test("in a host's statement is INVALID_INPUT", async () => {
    const store = await open(':memory:')
    for (const sql of ['select * from nobodies', 'select nobody from consents']) {
      const run = store.database.readOnly(CompiledQuery.raw(sql))
      await expect(run).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
  })

  test.each([
    'alter table rebuild rename column until to upto; update head set schema = 2',
    'alter table rebuild rename column until to upto',
  ])('after another version changed the tables is NOT_OURS (%s)', async change => {
    const store = await openChanged(temporaryStore(), change)
    await expect(store.rebuild()).rejects.toMatchObject({
      code: 'NOT_OURS',
      message: expect.stringContaining('another version'),
      hint: expect.stringContaining('Restart'),
    })
  })

  test('of a table that is missing in the log is CORRUPT', async () => {
    const store = await openChanged(temporaryStore(), 'drop table rebuild')
    await expect(store.rebuild()).rejects.toMatchObject({ code: 'CORRUPT' })
    const sql = 'select * from consent'
    const run = store.database.readOnly(CompiledQuery.raw(sql))
    await expect(run).rejects.toMatchObject({ code: 'CORRUPT' })
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

  test.each([
    [
      'that is no database',
      async () => {
        const path = temporaryStore()
        writeFileSync(path, 'not a database, and too long to pass for an empty file\n'.repeat(50))
        return path
      },
      { code: 'NOT_OURS' },
    ],
    [
      'of a newer version',
      () => given(path => useDatabase(path, database => database.exec('update head set schema = 99'))),
      { code: 'NOT_OURS', hint: 'Update averba' },
    ],
    [
      'in a missing folder',
      async () => join(temporaryStore(), 'no', 'log.sqlite'),
      { name: 'AverbaError', code: 'STORE_UNSAFE' },
    ],
  ])('%s', async (_, makePath, error) => {
    await expect(open(await makePath())).rejects.toMatchObject(error)
  })

  test("of another program, or of another log's keyring, also when it is empty, and stays unchanged", async () => {
    const foreign = temporaryStore()
    useDatabase(foreign, database => database.exec('create table customers (name text)'))
    const other = await given(() => undefined)
    const log = await given(path => copyFileSync(`${other}.keys`, `${path}.keys`))
    const empty = temporaryStore()
    writeFileSync(empty, '')
    copyFileSync(`${other}.keys`, `${empty}.keys`)
    for (const [path, code] of [
      [foreign, 'NOT_OURS'],
      [log, 'KEYS_MISMATCH'],
      [empty, 'KEYS_MISMATCH'],
    ] as const) {
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
  const connection = closeAtEnd(await openSqlite(temporaryStore()))
  const get = vi.spyOn(StatementSync.prototype, 'get').mockImplementationOnce(() => {
    throw new Error('the disk')
  })
  const one = CompiledQuery.raw('select 1 as a')
  await expect(connection.readOnly(one)).rejects.toThrow('the disk')
  get.mockRestore()
  expect(await connection.readOnly(one)).toEqual([{ a: 1 }])
})

test('a statement is prepared anew when another process has changed its table', async () => {
  const path = temporaryStore()
  const connection = closeAtEnd(await openSqlite(path))
  const select = () => connection.readOnly(CompiledQuery.raw('select * from t'))
  useDatabase(path, database => database.exec('create table t (a, b); insert into t values (1, 2)'))
  expect(await select()).toEqual([{ a: 1, b: 2 }])
  const before = vi.spyOn(DatabaseSync.prototype, 'prepare')
  await select()
  expect(before.mock.calls.filter(([sql]) => sql === 'select * from t')).toEqual([])
  useDatabase(path, database => database.exec('drop table t; create table t (b, c, a); insert into t values (2, 3, 1)'))
  expect(await select()).toEqual([{ a: 1, b: 2, c: 3 }])
  // By itself SQLite would give Node 22 and Deno the columns of the former table.
  expect(before.mock.calls.filter(([sql]) => sql === 'select * from t')).toHaveLength(1)
  before.mockRestore()
})

test('a host’s parameter that SQLite does not know is refused, and a statement that writes', async () => {
  const connection = closeAtEnd(await openSqlite(temporaryStore()))
  await connection.transact(function* () {
    yield* rows({ sql: 'create table t (a)', parameters: [] })
  })
  const ask = (sql: string, ...parameters: unknown[]) => connection.readOnly(CompiledQuery.raw(sql, parameters))
  for (const value of [new Date(0), {}, true, undefined, new ArrayBuffer(1)])
    await expect(ask('select ? as a', value)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await ask('select ? as a, ? as b', 1, null)).toEqual([{ a: 1, b: null }])
  const insert = 'with x as (select 1 as a) insert into t select a from x returning a'
  await expect(ask(insert)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('only be read'),
  })
  await expect(ask('select 1; delete from t')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  expect(await ask('select * from t')).toEqual([])
})

test('a file that is refused is closed, and a path is never taken for an address', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'junk.sqlite')
  writeFileSync(path, 'a text that is no database\n'.repeat(99))
  const closed = vi.spyOn(DatabaseSync.prototype, 'close')
  await expect(openSqlite(path)).rejects.toMatchObject({ code: 'NOT_OURS' })
  expect(closed).toHaveBeenCalledTimes(1)
  closed.mockRestore()
  const before = process.cwd()
  process.chdir(folder)
  try {
    const connection = await openSqlite('file:log?mode=memory')
    await connection.close()
    expect(existsSync(join(folder, 'file:log?mode=memory'))).toBe(true)
  } finally {
    process.chdir(before)
  }
})
