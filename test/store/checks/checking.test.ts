import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import Sqlite from 'better-sqlite3'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  AverbaError,
  backupStore,
  diagnoseStore,
  openAverba,
  restoreStore,
  verifyLog,
} from '../../../src/index.ts'
import { leafHash } from '../../../src/proof/merkle.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { checkStore } from '../../../src/store/checks/check-store.ts'
import { Snapshot } from '../../../src/store/database/snapshot.ts'
import { makeBackup } from '../../../src/store/files/backup.ts'
import { restoreBackup } from '../../../src/store/files/restore.ts'
import { append, counting, open } from '../counting.ts'
import { copyStore, makeSampleStore, newPath } from '../sample-store.ts'

let sample = ''
beforeAll(async () => {
  sample = await makeSampleStore()
})

/** Edits a copy as an owner of the file can, guards taken out. */
function tampered(edit: (database: Sqlite.Database) => void): string {
  const store = copyStore(sample)
  const database = new Sqlite(store)
  database.pragma('foreign_keys = off')
  database.function('leaf', header => leafHash(String(header)))
  database.exec('drop trigger event_no_update; drop trigger event_no_delete')
  edit(database)
  database.close()
  return store
}

const checksOf = async (store: string) => {
  const { checked, problems } = await diagnoseStore({ store, isDeep: true })
  return { checks: checked?.faults.map(fault => fault.check) ?? [], problems }
}

test('a log that nobody touched has no fault, deep or not, and a look at it leaves it as it is', async () => {
  const bytes = readFileSync(sample)
  const seen: string[] = []
  const deep = await diagnoseStore({
    store: sample,
    isDeep: true,
    onProgress: (what, position, end) => seen.push(`${what} ${position} of ${end}`),
  })
  expect(deep.problems).toEqual([])
  expect(deep.checked).toMatchObject({ events: deep.position, faults: [] })
  expect(deep.checked?.parts).toBeGreaterThan(520)
  expect(seen).toContain(`log ${deep.position} of ${deep.position}`)
  expect(seen).toContain(`views ${deep.position} of ${deep.position}`)
  expect((await diagnoseStore({ store: sample })).problems).toEqual([])
  expect(readFileSync(sample)).toEqual(bytes)
})

const edited = `update event set header = replace(header, '"bodyBytes":', '"bodyBytes":1')`

describe('a deep look finds', () => {
  test.each([
    [
      'a last event that is gone with all that it had',
      'delete from part where position = (select max(position) from event); delete from event where position = (select max(position) from event)',
      'views',
    ],
    ['a header that was edited', `${edited} where position = 100`, 'leaves'],
    [
      'a header edited together with its leaf',
      `${edited}, leaf = leaf(replace(header, '"bodyBytes":', '"bodyBytes":1')) where position = 100`,
      'tree',
    ],
    ['a leaf that was edited', 'update event set leaf = zeroblob(32) where position = 100', 'leaves'],
    ['an event that was taken out', 'delete from event where position = 100', 'positions'],
    ['an event of another type', "update event set type = 'x.y' where position = 100", 'headers'],
    [
      'an event of another stream',
      'update event set stream = 1, version = 900 where position = 100',
      'headers',
    ],
    ['a header that is no JSON', "update event set header = 'x' where position = 100", 'headers'],
    ['a version that is not the next', 'update event set version = 7 where position = 100', 'headers'],
    ['a tile that was edited', 'update tile set hashes = zeroblob(length(hashes)) where number = 0', 'tree'],
    ['a tile too many', 'insert into tile values (1, -1, zeroblob(32))', 'tree'],
    [
      'a part that was edited',
      'update part set sealed = zeroblob(length(sealed)) where position = 100',
      'parts',
    ],
    ['a part that was taken out', "delete from part where position = 100 and name = 'body'", 'parts'],
    [
      'a part that no header names',
      "insert into part select position, 'x', owner, sealed from part where position = 100 and name = 'body'",
      'parts',
    ],
    [
      "a part under another's name",
      'update part set owner = (select min(key) from owner_key) where position = 100',
      'parts',
    ],
    [
      'a part whose owner is gone',
      'delete from owner_key where key = (select owner from part where position = 100)',
      'references',
    ],
    [
      'an effect that was taken out',
      'delete from effect where position = (select min(position) from effect)',
      'effects',
    ],
    [
      'an effect too many',
      'create table one as select * from effect limit 1; update one set n = 9; insert into effect select * from one; drop table one',
      'effects',
    ],
    [
      'a receipt that was taken out',
      'delete from receipt where command_id = (select min(command_id) from receipt)',
      'receipts',
    ],
    [
      'a receipt that leads elsewhere',
      'update receipt set position = position + 1 where command_id = (select min(command_id) from receipt)',
      'receipts',
    ],
    [
      'a receipt of no event',
      "insert into receipt values ('z', zeroblob(32), 'refused', '', '', 99999, '')",
      'receipts',
    ],
    [
      "a receipt with another command's effect",
      "update receipt set effect = (select effect from receipt where command_id = 'p2') where command_id = 'p1'",
      'receipts',
    ],
    [
      "a receipt with an earlier command's effect",
      "update receipt set effect = (select effect from receipt where command_id = 'p1') where command_id = 'p2'",
      'receipts',
    ],
    ['a digest of nobody', "update keyed_index set value = 'x' where kind = 'cpf'", 'index'],
    ['a person without a digest', "delete from keyed_index where kind = 'cpf'", 'index'],
    [
      'a digest of a record that is not there',
      "insert into keyed_index values ('failure', zeroblob(32), 'x')",
      'index',
    ],
    [
      'a recent digest of no event',
      "insert into recent_digest values (99999, '2026-11-20T12:00:00.000Z', zeroblob(32))",
      'index',
    ],
    ['a recent digest of a later time', "update recent_digest set at = '2046-11-20T00:00:00.000Z'", 'index'],
    ['a row of a view that was edited', 'update notifications set copies = 2 where rowid = 100', 'views'],
    ['a row of a view that was taken out', 'delete from notifications where rowid = 100', 'views'],
    [
      'a row of a view too many',
      "insert into tokens select 'x', * from (select * from tokens limit 0)",
      'views',
    ],
    ['a view that stands still', "update head set views = replace(views, 'tokens@1', '')", 'views'],
    [
      'a follower beyond the end',
      "insert into follower (name, position, is_parked, attempts, reason) values ('x', 99999, 0, 0, '')",
      'end',
    ],
    ['a last tile that is gone', 'delete from tile where number = (select max(number) from tile)', 'end'],
    [
      'a keyring of another log',
      `update event set header = replace(header, 'keys_', 'other_') where position = 1`,
      'leaves',
    ],
  ] as const)('%s', async (_, sql, check) => {
    const isOfTokens = sql.startsWith('insert into tokens')
    const store = tampered(database => {
      if (!isOfTokens) return void database.exec(sql)
      const columns = database.pragma('table_info(tokens)') as { name: string; type: string }[]
      const cells = columns.map(({ type }, i) => (i === 0 ? "'x'" : type === 'INTEGER' ? '0' : "'y'"))
      database.exec(`insert into tokens values (${cells.join(', ')})`)
    })
    const { checks, problems } = await checksOf(store)
    expect(checks).toContain(check)
    expect(problems.length).toBeGreaterThan(0)
  })

  test('damaged pages, wherever they are, without falling over', async () => {
    const { size } = statSync(sample)
    let found = 0
    for (let page = 1; page * 4096 < size; page += 7) {
      const store = copyStore(sample)
      const descriptor = openSync(store, 'r+')
      writeSync(descriptor, Buffer.alloc(4096, 0xa5), 0, 4096, page * 4096)
      closeSync(descriptor)
      const problems = await diagnoseStore({ store, isDeep: true }).then(
        found => found.problems,
        error => {
          expect(error).toBeInstanceOf(AverbaError)
          return [error.code]
        },
      )
      // Pages that hold nothing any more may be anything.
      if (problems.length > 0) found += 1
    }
    expect(found).toBeGreaterThan(20)
  })
})

test('a long view is compared in pages, which give way', async () => {
  const path = newPath()
  const view = counting('counted')
  const store = await open(path, [view])
  await append(store, 2_500, 2_500)
  await store.close()
  const database = new Sqlite(path)
  database.exec(`update counted set n = 9 where stream in ('bench-7', 'bench-1900');
    delete from counted where stream = 'bench-3'; insert into counted values ('a', 1), ('z', 1)`)
  database.close()
  const snapshot = await Snapshot.open(path)
  let pages = 0
  const onProgress = (what: string, position: number) => {
    if (what === 'views' && position === 2_501) pages += 1
  }
  const { faults } = await checkStore(snapshot, { views: [view], onProgress })
  snapshot.close()
  expect(faults.map(({ check }) => check)).toEqual(['views'])
  expect(faults[0]?.examples[0]).toMatch(/^counted differs from the log in 5 rows: /)
  expect(pages).toBeGreaterThan(3)
})

describe('opening finds at once', () => {
  test.each([
    ['a last event that is gone', 'delete from event where position = (select max(position) from event)'],
    [
      'a last header that was edited',
      `update event set header = header || ' ' where position = (select max(position) from event)`,
    ],
    [
      'a last leaf that was edited',
      'update event set leaf = zeroblob(32) where position = (select max(position) from event)',
    ],
    [
      'a follower beyond the end',
      "insert into follower (name, position, is_parked, attempts, reason) values ('x', 99999, 0, 0, '')",
    ],
    ['a last tile that is gone', 'delete from tile where number = (select max(number) from tile)'],
    ['a last tile that is short', 'update tile set hashes = substr(hashes, 1, 32)'],
    ['a tile that cannot be yet', 'insert into tile values (2, 0, zeroblob(32))'],
    ['a head that is gone', 'delete from head'],
    ['a table that is gone', 'drop table tile'],
  ])('%s', async (_, sql) => {
    const store = tampered(database => void database.exec(sql))
    const error = await openAverba({ store }).then(
      () => undefined,
      error => error,
    )
    expect(error).toMatchObject({ name: 'AverbaError', hint: expect.any(String) })
    expect(error.code).toBe(sql === 'delete from head' ? 'NOT_OURS' : 'CORRUPT')
  })
})

describe('the keyring', () => {
  test('that is gone, too open, damaged or of another log is said', async () => {
    const problemsOf = async (store: string) => (await diagnoseStore({ store })).problems.join()
    const other = newPath()
    await (await openAverba({ store: other })).close()
    const store = copyStore(sample)
    chmodSync(`${store}.keys`, 0o644)
    expect(await problemsOf(store)).toMatch(/mode 644 instead of 600/)
    chmodSync(`${store}.keys`, 0o600)
    expect(await problemsOf(store)).toBe('')
    writeFileSync(`${store}.keys`, readFileSync(`${other}.keys`))
    expect(await problemsOf(store)).toMatch(/keyring belongs to another log/)
    writeFileSync(`${store}.keys`, '{}')
    expect(await problemsOf(store)).toMatch(/damaged/)
    rmSync(`${store}.keys`)
    expect(await problemsOf(store)).toMatch(/keyring is missing/)
  })

  test('that a dead process left a first copy of beside it is told of, and a backup with another name is not', async () => {
    const store = copyStore(sample)
    copyFileSync(`${store}.keys`, `${store}.keys.0123456789abcdef`)
    copyFileSync(`${store}.keys`, `${store}.keys.2026-11-20`)
    const { problems } = await diagnoseStore({ store })
    expect(problems).toEqual([expect.stringContaining(`"${store}.keys.0123456789abcdef"`)])
  })

  test('that does not open the key of some owner is said by a deep look: no erasure would ever be complete', async () => {
    const store = tampered(database => {
      const last = 'key = (select max(key) from owner_key)'
      const wrapped = database.prepare(`select wrapped from owner_key where ${last}`).pluck().get() as Buffer
      wrapped[20] = (wrapped[20] ?? 0) ^ 1
      database.prepare(`update owner_key set wrapped = ? where ${last}`).run(wrapped)
    })
    expect((await diagnoseStore({ store })).problems).toEqual([])
    const { problems } = await diagnoseStore({ store, isDeep: true })
    expect(problems).toEqual([
      expect.stringMatching(/^keys: the key of ".+" does not open with the keyring$/),
    ])
  })

  test('without its log begins no new one in its place', async () => {
    const store = copyStore(sample)
    for (const lose of [() => writeFileSync(store, ''), () => rmSync(store)]) {
      lose()
      const opening = openAverba({ store })
      await expect(opening).rejects.toMatchObject({
        code: 'KEYS_MISMATCH',
        hint: expect.stringMatching(/backup/),
      })
    }
    expect(existsSync(`${store}.keys`)).toBe(true)
  })
})

test('a mark that keeps the log from opening is said, and a damaged one does not send anybody to an older copy', async () => {
  const store = newPath()
  const log = await openAverba({ store })
  await log.consents.enrol({ cpf: '25774435016' })
  const backup = `${store}.backup`
  await backupStore({ store, to: backup })
  await log.consents.enrol({ cpf: '11144477735' })
  await log.close()
  expect((await diagnoseStore({ store })).problems).toEqual([])
  const mark = readFileSync(`${store}.mark`)
  const problemsOf = async () => (await diagnoseStore({ store })).problems
  const opening = () => openAverba({ store }).catch(error => error)

  writeFileSync(`${store}.mark`, 'x')
  expect(await problemsOf()).toEqual([expect.stringMatching(/^mark: .*its high-water mark is damaged/)])
  expect(await opening()).toMatchObject({
    code: 'ROLLED_BACK',
    hint: expect.stringContaining('averba verify'),
  })

  writeFileSync(`${store}.mark`, mark)
  for (const end of ['-wal', '-shm']) rmSync(store + end, { force: true })
  writeFileSync(store, readFileSync(backup))
  expect(await problemsOf()).toEqual([expect.stringMatching(/^mark: .*events, and had \d+ when/)])
  expect(await opening()).toMatchObject({
    code: 'ROLLED_BACK',
    hint: expect.stringContaining('--accept-rollback'),
  })
  rmSync(`${store}.mark`)
  expect(await problemsOf()).toEqual([])
})

test('the doctor counts bytes, months and what is owed', async () => {
  const found = await diagnoseStore({ store: sample })
  const { size } = statSync(sample)
  expect(found.fileBytes).toBe(size)
  expect(found.bytesPerEvent).toBe(Math.round((size - found.freeBytes) / found.position))
  expect(found.months.map(month => month.month)).toEqual(['2026-11'])
  expect(found.months[0]?.events).toBe(found.position)
  expect(found.owed).toMatchObject([{ type: 'validationService.validatePerson', state: 'unknown', count: 1 }])
  expect(found.pragmas).toMatchObject({ journal_mode: 'wal', synchronous: 2, secure_delete: 1 })
  expect(found.views.every(view => view.isRunning)).toBe(true)
})

test('whatever page is damaged, and however, every command says so with a code and a hint, and no bug is told', async () => {
  const whole = readFileSync(sample)
  const store = copyStore(sample)
  const backup = `${store}.backup`
  const restored = `${store}.restored`
  const commands = {
    doctor: () => diagnoseStore({ store, isDeep: true }),
    verify: () => verifyLog({ store }),
    backup: () => backupStore({ store, to: backup }),
    restore: () => restoreStore({ backup: store, store: restored, keys: `${store}.keys` }),
    open: async () => {
      const averba = await openAverba({ store })
      for await (const { position } of averba.log.read({})) expect(position).toBeGreaterThan(0)
      await averba.close()
    },
  }
  const told: Record<string, number> = {}
  for (let page = 1; page < whole.length / 4096; page += page < 8 ? 1 : 11) {
    for (const [from, byte] of [
      [1_024, 0],
      [0, 0],
      [2_000, 0xa5],
    ] as const) {
      for (const [name, command] of Object.entries(commands)) {
        for (const end of ['-wal', '-shm', '-journal']) rmSync(`${store}${end}`, { force: true })
        for (const made of [backup, restored, `${restored}.keys`, `${store}.mark`])
          rmSync(made, { force: true })
        writeFileSync(store, Buffer.from(whole).fill(byte, page * 4_096 + from, (page + 1) * 4_096))
        const error = await command().then(
          () => undefined,
          (thrown: unknown) => thrown,
        )
        if (error === undefined) continue
        expect(error, `${name}, page ${page} from ${from}`).toBeInstanceOf(AverbaError)
        expect(error, `${name}, page ${page} from ${from}`).toMatchObject({ hint: expect.any(String) })
        told[name] = (told[name] ?? 0) + 1
      }
    }
  }
  expect(Object.keys(told).sort()).toEqual(Object.keys(commands).sort())
})

test('what a damaged page reads as nothing is a fault, beside the others that were found', async () => {
  const store = tampered(database => {
    database.unsafeMode(true)
    database.pragma('writable_schema = on')
    database.exec(
      "update sqlite_schema set sql = replace(sql, 'leaf blob not null', 'leaf blob') where name = 'event'",
    )
    database.pragma('writable_schema = reset')
    database.exec('update event set leaf = null where position in (100, (select max(position) from event))')
  })
  const { checks } = await checksOf(store)
  expect(checks).toEqual(expect.arrayContaining(['end', 'leaves']))
  await expect(openAverba({ store })).rejects.toMatchObject({ code: 'CORRUPT', hint: expect.any(String) })
})

test('a view that cannot be built is told as that, and the log is restored all the same', async () => {
  const path = newPath()
  const one = counting('one')
  const [failing, other] = [
    { ...one, fold: () => expect.fail('a fold of a newer release') },
    { ...counting('other'), fold: () => ({ stream: 'stream-0', n: -1 }), key: () => 'stream-0' },
  ]
  const store = await open(path, [one, counting('other')])
  await append(store, 20)
  await store.close()
  const [backup, elsewhere] = [newPath(), newPath()]
  await makeBackup({ store: path, to: backup, entropy: systemEntropy })
  const options = { backup, store: elsewhere, keys: `${path}.keys`, entropy: systemEntropy }
  const { views } = await restoreBackup({ ...options, views: [failing, other] })
  const [{ check = '', examples = [] } = {}] = views
  expect([check, examples.length, examples[0]]).toEqual([
    'views',
    2,
    expect.stringContaining('one cannot be built'),
  ])
})
