import { chmodSync, copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { AverbaError, backupStore, diagnoseStore, openAverba, restoreStore, verifyLog } from '../../../src/index.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { Snapshot } from '../../../src/store/database/snapshot.ts'
import { makeBackup } from '../../../src/store/files/backup.ts'
import { restoreBackup } from '../../../src/store/files/restore.ts'
import { leafHash } from '../../../src/store/log/tree.ts'
import { append, counting, open } from '../../support/counting.ts'
import { copyStore, makeSampleStore } from '../../support/sample-store.ts'
import type { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase, withoutGuards } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'

const sample = await makeSampleStore()

/** Edits a copy as the file's owner could, with the triggers removed. */
function tampered(edit: (database: Sqlite) => unknown): string {
  const store = copyStore(sample)
  useDatabase(store, database => {
    database.pragma('foreign_keys = off')
    database.function('leaf', header => leafHash(String(header)))
    withoutGuards(database, () => edit(database))
  })
  return store
}

const problemsOf = async (store: string) => (await diagnoseStore({ store })).problems

const checksOf = async (store: string) => {
  const { checked, problems } = await diagnoseStore({ store, isDeep: true })
  return { checks: checked?.faults.map(fault => fault.check) ?? [], problems }
}

test('an untouched log has no faults, and checking does not change it', async () => {
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

/** Edits that both the deep check and the opening of a log find. */
const last = 'position = (select max(position) from event)'
const [inLast, of100] = [`where ${last}`, 'where position = 100']
const edits = {
  noLastEvent: `delete from event ${inLast}`,
  noLastSubtree: 'delete from subtree where number = (select max(number) from subtree)',
  followerBeyond: "insert into follower (name, position, is_parked, attempts, reason) values ('x', 99999, 0, 0, '')",
  otherTree: 'update head set frontier = zeroblob(length(frontier))',
}
const changed = `replace(header, '"causedBy":', '"cancels":5,"settles":{"effect":{"toString":1}},"causedBy":')`
const firstReceipt = 'where command_id = (select min(command_id) from receipt)'
const person = "kind = 'cpf'"

/** Adds a changed copy of the first row of a table. */
const copyRow = (table: string, change: string) =>
  `create table one as select * from ${table} limit 1; update one set ${change}; insert into ${table} select * from one;
    drop table one`

/** Gives a receipt the effect of another one. */
const withEffectOf = (other: string, id: string) =>
  `update receipt set effect = (select effect from receipt where command_id = '${other}') where command_id = '${id}'`

test.each([
  ['a missing last event with all its rows', `delete from part ${inLast}; ${edits.noLastEvent}`, 'views'],
  ['an edited header', `update event set header = ${changed} ${of100}`, 'leaves'],
  [
    'a header with a value of another type, edited together with its leaf',
    `update event set header = ${changed}, leaf = leaf(${changed}) ${of100}`,
    'tree',
  ],
  ['an edited leaf', `update event set leaf = zeroblob(32) ${of100}`, 'leaves'],
  ['a deleted event', `delete from event ${of100}`, 'positions'],
  ['a changed event type', `update event set type = 'x.y' ${of100}`, 'headers'],
  ['a changed stream', `update event set stream = 1, version = 900 ${of100}`, 'headers'],
  ['a header that is not JSON', `update event set header = 'x' ${of100}`, 'headers'],
  ['a wrong version', `update event set version = 7 ${of100}`, 'headers'],
  ['an edited subtree', 'update subtree set hash = zeroblob(32) where number = 0', 'tree'],
  ['an extra subtree', 'insert into subtree values (1, -1, zeroblob(32))', 'tree'],
  ['an edited part', `update part set sealed = zeroblob(length(sealed)) ${of100}`, 'parts'],
  ['a deleted part', `delete from part ${of100} and name = 'body'`, 'parts'],
  [
    'a part that no header names',
    `insert into part select position, 'x', owner, sealed from part ${of100} and name = 'body'`,
    'parts',
  ],
  ['a part under another name', `update part set owner = (select min(key) from owner_key) ${of100}`, 'parts'],
  ['a part without an owner', `delete from owner_key where key = (select owner from part ${of100})`, 'references'],
  ['a deleted effect', 'delete from effect where position = (select min(position) from effect)', 'effects'],
  ['an extra effect', copyRow('effect', 'n = 9'), 'effects'],
  ['a deleted receipt', `delete from receipt ${firstReceipt}`, 'receipts'],
  ['a receipt with another position', `update receipt set position = position + 1 ${firstReceipt}`, 'receipts'],
  ['a command that recorded an event as refused', `update receipt set code = 'refused' ${firstReceipt}`, 'receipts'],
  ['a receipt without an event', "insert into receipt values ('z', x'', 'refused', '', '', 99999, '')", 'receipts'],
  ["a receipt with another command's effect", withEffectOf('p2', 'p1'), 'receipts'],
  ["a receipt with an earlier command's effect", withEffectOf('p1', 'p2'), 'receipts'],
  ['a digest without a person', `update keyed_index set value = 'x' where ${person}`, 'index'],
  ['a person without a digest', `delete from keyed_index where ${person}`, 'index'],
  ['a digest of a missing record', "insert into keyed_index values ('failure', zeroblob(32), 'x', '')", 'index'],
  ['a digest without its tag', `update keyed_index set tag = '' where ${person}`, 'index'],
  ['an event without its tag', "update event set tag = '' where position = 3", 'tags'],
  ['a head without its tag', "update head set tag = ''", 'tags'],
  ['a head of fewer events', 'update head set position = position - 1', 'end'],
  ['a recent digest without an event', "insert into recent_digest values (99999, '2026-11-20', x'')", 'index'],
  ['a recent digest with a later time', "update recent_digest set at = '2046-11-20T00:00:00.000Z'", 'index'],
  ['an edited row of a view', 'update notifications set copies = 2 where rowid = 100', 'views'],
  ['a deleted row of a view', 'delete from notifications where rowid = 100', 'views'],
  ['an extra row of a view', copyRow('subjects', "subject = 'x'"), 'views'],
  ['a stopped view', "update head set views = replace(views, 'tokens@1', '')", 'views'],
  ['a follower beyond the end of the log', edits.followerBeyond, 'end'],
  ['a missing last subtree', edits.noLastSubtree, 'end'],
  ['a head of another time', "update head set at = '2020-01-01T00:00:00.000Z'", 'end'],
  ['a head of another tree', edits.otherTree, 'end'],
  ['a head of fewer streams', 'update head set stream = stream - 1', 'end'],
  [
    'a keyring of another log',
    "update event set header = replace(header, 'keys_', 'other_') where position = 1",
    'leaves',
  ],
])('the deep check finds %s', async (_, sql, check) => {
  const { checks, problems } = await checksOf(tampered(database => database.exec(sql)))
  expect(checks).toContain(check)
  expect(problems.length).toBeGreaterThan(0)
})

test.each([
  ['a missing last event', edits.noLastEvent],
  ['an edited last header', `update event set header = header || ' ' ${inLast}`],
  ['an edited last leaf', `update event set leaf = zeroblob(32) ${inLast}`],
  ['a follower beyond the end of the log', edits.followerBeyond],
  ['a missing last subtree', edits.noLastSubtree],
  ['a short subtree', 'update subtree set hash = substr(hash, 1, 31)'],
  ['a subtree above the last level', 'insert into subtree values (2, 0, zeroblob(32))'],
  ['a head of another tree', edits.otherTree],
  ['a head without a tree', "update head set frontier = x''"],
  ['a missing head', 'delete from head', 'NOT_OURS'],
  ['a missing table', 'drop table subtree'],
])('opening finds at once %s', async (_, sql, code = 'CORRUPT') => {
  const store = tampered(database => database.exec(sql))
  await expect(openAverba({ store })).rejects.toMatchObject({ name: 'AverbaError', code, hint: expect.any(String) })
})

describe('the keyring', () => {
  test('is reported when it is missing, too open, damaged or of another log', async () => {
    const other = temporaryStore()
    await (await openAverba({ store: other })).close()
    const store = copyStore(sample)
    const problems = async () => (await problemsOf(store)).join()
    chmodSync(`${store}.keys`, 0o644)
    expect(await problems()).toMatch(/mode 644 instead of 600/)
    chmodSync(`${store}.keys`, 0o600)
    expect(await problems()).toBe('')
    writeFileSync(`${store}.keys`, readFileSync(`${other}.keys`))
    expect(await problems()).toMatch(/keyring belongs to another log/)
    writeFileSync(`${store}.keys`, '{}')
    expect(await problems()).toMatch(/damaged/)
    rmSync(`${store}.keys`)
    expect(await problems()).toMatch(/keyring is missing/)
  })

  test('is reported when a dead process left a first copy beside it, but a backup is not', async () => {
    const store = copyStore(sample)
    copyFileSync(`${store}.keys`, `${store}.keys.0123456789abcdef`)
    copyFileSync(`${store}.keys`, `${store}.keys.2026-11-20`)
    expect(await problemsOf(store)).toEqual([expect.stringContaining(`"${store}.keys.0123456789abcdef"`)])
  })

  test('is reported by a deep check when it does not open an owner’s key, which would block erasures', async () => {
    const store = tampered(database => {
      const last = 'key = (select max(key) from owner_key)'
      const wrapped = database.value(`select wrapped from owner_key where ${last}`) as Buffer
      wrapped[20] = (wrapped[20] ?? 0) ^ 1
      database.prepare(`update owner_key set wrapped = ? where ${last}`).run(wrapped)
    })
    expect(await problemsOf(store)).toEqual([])
    expect((await checksOf(store)).problems).toEqual([
      expect.stringMatching(/^keys: the key of ".+" does not open with the keyring$/),
    ])
  })
})

test('a mark that keeps the log from opening is reported; a damaged one does not suggest a restore', async () => {
  const store = temporaryStore()
  const log = await openEngine({ store })
  await log.consents.enrol({ cpf: '25774435016' })
  const backup = `${store}.backup`
  await backupStore({ store, to: backup })
  await log.consents.enrol({ cpf: '11144477735' })
  await log.close()
  expect(await problemsOf(store)).toEqual([])
  const mark = readFileSync(`${store}.mark`)
  const expectRefusal = (hint: string) =>
    expect(openAverba({ store })).rejects.toMatchObject({ code: 'ROLLED_BACK', hint: expect.stringContaining(hint) })
  writeFileSync(`${store}.mark`, 'x')
  expect(await problemsOf(store)).toEqual([expect.stringMatching(/^mark: .*its high-water mark is damaged/)])
  await expectRefusal('averba verify')
  writeFileSync(`${store}.mark`, mark)
  for (const end of ['-wal', '-shm']) rmSync(store + end, { force: true })
  copyFileSync(backup, store)
  const short = expect.stringMatching(/^keys: it has \d+ events, and had \d+ when/)
  expect(await problemsOf(store)).toEqual([short, expect.stringMatching(/^mark: .*events, and had \d+ when/)])
  await expectRefusal('--accept-rollback')
  rmSync(`${store}.mark`)
  expect(await problemsOf(store)).toEqual([short])
})

test('diagnosis counts bytes, months and pending calls', async () => {
  const found = await diagnoseStore({ store: sample })
  const { size } = statSync(sample)
  expect(found.fileBytes).toBe(size)
  expect(found.bytesPerEvent).toBe(Math.round((size - found.freeBytes) / found.position))
  expect(found.months.map(month => month.month)).toEqual(['2026-11'])
  expect(found.months[0]?.events).toBe(found.position)
  expect(found.pending).toMatchObject([{ type: 'validationService.validatePerson', state: 'unknown', count: 1 }])
  expect(found.settings).toMatchObject({ journal_mode: 'wal', synchronous: 2, secure_delete: 1 })
  expect(found.views.every(view => view.isRunning)).toBe(true)
})

test('for any damaged page, every command reports a code and a hint, and no bug', async () => {
  const store = await makeSampleStore(20)
  const whole = readFileSync(store)
  const [backup, restored] = [`${store}.backup`, `${store}.restored`]
  const commands = {
    doctor: () => diagnoseStore({ store, isDeep: true }),
    verify: () => verifyLog({ store }),
    backup: () => backupStore({ store, to: backup }),
    restore: () => restoreStore({ backup: store, store: restored, keys: `${store}.keys` }),
    open: async () => {
      const averba = await openEngine({ store })
      for await (const { position } of averba.log.read({})) expect(position).toBeGreaterThan(0)
      await averba.close()
    },
  }
  const failing = new Set<string>()
  for (let page = 1; page < whole.length / 4096; page += page < 8 ? 1 : 5) {
    for (const [from, byte] of [
      [1_024, 0],
      [0, 0],
      [2_000, 0xa5],
    ] as const) {
      for (const [name, command] of Object.entries(commands)) {
        for (const end of ['-wal', '-shm', '-journal']) rmSync(`${store}${end}`, { force: true })
        for (const made of [backup, restored, `${restored}.keys`, `${store}.mark`]) rmSync(made, { force: true })
        writeFileSync(store, Buffer.from(whole).fill(byte, page * 4_096 + from, (page + 1) * 4_096))
        const error: unknown = await command().then(
          () => undefined,
          thrown => thrown,
        )
        if (error === undefined) continue
        const where = `${name}, page ${page} from ${from}`
        expect(error, where).toBeInstanceOf(AverbaError)
        expect(error, where).toMatchObject({ hint: expect.any(String) })
        failing.add(name)
      }
    }
  }
  expect([...failing].sort()).toEqual(Object.keys(commands).sort())
})

test('bytes behind a NUL, which Node 22 and Deno do not read, are a fault', async () => {
  const edit = "update event set header = header || char(0) || 'hidden' where position = 5"
  await using snapshot = await Snapshot.open(tampered(database => database.exec(edit)))
  expect(await snapshot.findFaults()).toEqual([
    { check: 'file', fault: 'a text in "event" has a NUL, and bytes after it' },
  ])
})

test('a page damaged to read as empty is a fault, besides others found', async () => {
  const store = tampered(database => {
    database.pragma('writable_schema = on')
    database.exec("update sqlite_schema set sql = replace(sql, 'leaf blob not null', 'leaf blob') where name = 'event'")
    database.pragma('writable_schema = reset')
    database.exec('update event set leaf = null where position in (100, (select max(position) from event))')
  })
  const { checks } = await checksOf(store)
  expect(checks).toEqual(expect.arrayContaining(['end', 'leaves']))
  await expect(openAverba({ store })).rejects.toMatchObject({ code: 'CORRUPT', hint: expect.any(String) })
})

test('a view that cannot be built is reported, and the log is restored all the same', async () => {
  const path = temporaryStore()
  const one = counting('one')
  const failing = { ...one, fold: () => expect.fail('a fold of a newer release') }
  const other = { ...counting('other'), fold: () => ({ stream: 'stream-0', n: -1 }), key: () => 'stream-0' }
  const store = await open(path, [one, counting('other')])
  await append(store, 20)
  await store.close()
  const [backup, elsewhere] = [temporaryStore(), temporaryStore()]
  await makeBackup({ store: path, to: backup, entropy: systemEntropy })
  const options = { backup, store: elsewhere, keys: `${path}.keys`, entropy: systemEntropy }
  const { views } = await restoreBackup({ ...options, views: [failing, other] })
  const [{ check = '', examples = [] } = {}] = views
  expect([check, examples.length, examples[0]]).toEqual(['views', 2, expect.stringContaining('one cannot be built')])
})
