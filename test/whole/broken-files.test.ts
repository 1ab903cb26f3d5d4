import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { AverbaError, backupStore, diagnoseStore, exportBundle, openAverba, systemClock } from '../../src/index.ts'
import { formatBrasilia } from '../../src/vocabulary/brasilia.ts'
import { notify } from '../support/notify.ts'
import { applyPlan, deliver } from '../support/portal.ts'
import { runCode } from '../support/run-script.ts'
import { copyStore, makeSampleStore } from '../support/sample-store.ts'
import { Sqlite } from '../support/sqlite.ts'
import { temporaryFolder, temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase } from '../support/use-database.ts'
import { openEngine, openWorld } from '../support/world.ts'

test('a backup or an export without room on the disk leaves no file behind', async () => {
  const [store, backup, dir] = [await makeSampleStore(100), temporaryStore(), join(temporaryFolder(), 'bundle')]
  const work = `
    const { backupStore } = await import('./src/index.ts')
    const { exportUpTo } = await import('./src/operations/audit.ts')
    const { store, backup, dir } = ${JSON.stringify({ store, backup, dir })}
    const works = [() => backupStore({ store, to: backup }), () => exportUpTo({ store, dir }, async () => 'signed before')]
    console.log(JSON.stringify(await Array.fromAsync(works, work => work().then(() => 'done', error => error.code))))`
  // There is room for some files of the bundle.
  expect(await runCode(work, '50')).toEqual(['STORE_UNSAFE', 'STORE_UNSAFE'])
  expect([readdirSync(dirname(backup)), readdirSync(dir)]).toEqual([[], []])
  // Nothing stands in the way of the next one.
  expect(await backupStore({ store, to: backup })).toMatchObject({ file: backup })
  expect(await exportBundle({ store, dir })).toMatchObject({ dir })
  expect(Math.max(...readdirSync(dir).map(name => statSync(join(dir, name)).size))).toBeGreaterThan(51_200)
})

test('a file or folder that this user may not write is reported', async () => {
  const sample = await makeSampleStore(1)
  const given = (store: string, fileMode: number, folderMode: number) => {
    if (existsSync(store)) chmodSync(store, fileMode)
    chmodSync(dirname(store), folderMode)
    return store
  }
  const [file, folder] = [given(copyStore(sample), 0o444, 0o777), given(copyStore(sample), 0o666, 0o555)]
  const [both, absent] = [given(copyStore(sample), 0o444, 0o555), given(temporaryStore(), 0, 0o555)]
  const stores = [file, folder, both, absent]
  // Loads everything first, then becomes an unprivileged user: root may write everywhere.
  const errors = await runCode(`
    const { openAverba } = await import('./src/index.ts')
    await (await openAverba({ store: ':memory:' })).close()
    if (process.getuid() === 0) { process.setgroups([]); process.setgid(65534); process.setuid(65534) }
    const errors = []
    for (const store of ${JSON.stringify(stores)}) {
      const { code, message, hint } = await openAverba({ store }).then(() => ({ code: 'opened' }), error => error)
      errors.push({ code, message, hint })
    }
    console.log(JSON.stringify(errors))
  `)
  for (const store of stores) chmodSync(dirname(store), 0o755)
  const message = expect.stringMatching(/cannot be written/)
  const hint = expect.stringMatching(/write the file and its folder/)
  const refused = { code: 'STORE_UNSAFE', message, hint }
  expect(errors).toEqual([refused, refused, refused, expect.objectContaining({ code: 'STORE_UNSAFE' })])
  expect(existsSync(absent)).toBe(false)
})

test('a locked file is STORE_BUSY, and a notification is answered 503 and stored once after the lock', async () => {
  const store = temporaryStore()
  const [evento, receiver] = ['e', { publicUrl: 'https://receptor.exemplo.br/averba' }]
  // The portal's failure record, after its last attempt.
  const failure = () => {
    const data = formatBrasilia(systemClock.now())
    return Response.json([{ id: 7, data, descricao: 'HTTP 503', evento, conteudo: '{"numero":"26BR1"}' }])
  }
  const averba = await openEngine({
    ...{ store, receiver, subscriptions: [{ evento }] },
    portal: { baseUrl: 'https://portal.exemplo.br', authenticate: async () => ({}) },
    fetch: async ({ url }) =>
      url.includes('/falhas') ? failure() : Response.json([{ id: 1, evento, endpoint: receiver.publicUrl }]),
  })
  await applyPlan(averba)
  const inbox = () => averba.views.selectFrom('notifications').select('origin').execute()
  const holder = new Sqlite(store)
  holder.exec('begin exclusive')
  const [answer, ...errors] = await Promise.all([
    notify(averba, { numero: '26BR1' }),
    averba.consents.enrol({ cpf: '52998224725' }).catch(error => error),
    openAverba({ store }).catch(error => error),
  ])
  expect(answer.status).toBe(503)
  for (const error of errors)
    expect(error).toMatchObject({ name: 'AverbaError', code: 'STORE_BUSY', hint: expect.any(String) })
  expect(await inbox()).toEqual([])
  holder.close()
  await expect.poll(inbox).toEqual([{ origin: 'delivered' }])
  expect(await averba.consents.enrol({ cpf: '52998224725' })).toHaveLength(26)
  const [record] = await averba.subscriptions.failures({ recover: true })
  expect(record).toMatchObject({ recovery: 'stored' })
  expect(await inbox()).toHaveLength(1)
})

const makeTable = (database: Sqlite) => database.exec('create table t (a)')

test.each([
  ['a folder', (path: string) => mkdirSync(path), 'NOT_OURS'],
  ['a text', (path: string) => writeFileSync(path, 'a text that is no database\n'.repeat(99)), 'NOT_OURS'],
  ['zeros', (path: string) => writeFileSync(path, Buffer.alloc(8192)), 'NOT_OURS'],
  ['a database of another program', (path: string) => useDatabase(path, makeTable), 'NOT_OURS'],
  ['a device', (path: string) => symlinkSync('/dev/full', path), expect.stringMatching(/STORE_UNSAFE|NOT_OURS/)],
])('what is no log is said, and left as it is: %s', async (_, make, code) => {
  const path = temporaryStore()
  make(path)
  const bytes = statSync(path).isFile() ? readFileSync(path) : undefined
  const hint = expect.any(String)
  await expect(openAverba({ store: path })).rejects.toMatchObject({ name: 'AverbaError', code, hint })
  expect(existsSync(`${path}.keys`)).toBe(false)
  if (bytes) expect(readFileSync(path)).toEqual(bytes)
  await expect(diagnoseStore({ store: path })).rejects.toMatchObject({ name: 'AverbaError', hint })
})

/** Opens a damaged log: it fails with a code, or it is consistent. */
async function lookAt(store: string): Promise<{ code: string; events: number }> {
  try {
    const averba = await openEngine({ store })
    let events = 0
    for await (const event of averba.log.read()) expect(event.position).toBe(++events)
    await averba.close()
    expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
    return { code: 'right', events }
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    return { code: error.code, events: 0 }
  }
}

test('a file cut off at any size is reported, by diagnoseStore too, or is still complete', async () => {
  const sample = await makeSampleStore(30)
  const { size } = statSync(sample)
  const sizes = [0, 1, 15, 16, 50, 71, 72, 99, 100, 101, 511, 512, 600, 1_023, 4_095, size - 100]
  for (let page = 4_096; page < size; page += 8_192) sizes.push(page, page + 1, page + 4_095)
  const codes = new Set<string>()
  for (const cut of sizes.filter(each => each < size)) {
    const store = copyStore(sample)
    truncateSync(store, cut)
    const { code } = await lookAt(store)
    codes.add(code)
    const problems = await diagnoseStore({ store }).then(
      found => found.problems,
      error => [error.message],
    )
    expect(problems.length > 0, `cut to ${cut}`).toBe(code !== 'right')
  }
  expect([...codes].sort()).toEqual(['CORRUPT', 'KEYS_MISMATCH', 'NOT_OURS'])
})

/** Copies the files of a log while its engine still has them, as a crash would leave them. */
async function makeCrashed(isCheckpointed: boolean): Promise<string> {
  const [store, crashed] = [temporaryStore(), temporaryStore()]
  const averba = await openEngine({ store, receiver: { publicUrl: 'https://receptor.exemplo.br/averba' } })
  for (let i = 0; i < 40; i++) {
    expect((await notify(averba, { i })).status).toBe(200)
    if (isCheckpointed && i === 20) useDatabase(store, database => database.pragma('wal_checkpoint(passive)'))
  }
  for (const end of ['', '-wal', '.keys']) copyFileSync(store + end, crashed + end)
  return crashed
}
const lookAtCopy = (crashed: string, wal?: Uint8Array) => {
  const store = copyStore(crashed)
  if (wal) writeFileSync(`${store}-wal`, wal)
  return lookAt(store)
}

test.each([
  ['never moved into the file', false],
  ['partly moved into the file', true],
])(
  'a write-ahead log left by a crash and %s: intact it loses nothing; damaged or missing it is consistent or reported',
  async (_, isMoved) => {
    const crashed = await makeCrashed(isMoved)
    const wal = readFileSync(`${crashed}-wal`)
    expect(await lookAtCopy(crashed, wal)).toEqual({ code: 'right', events: 41 })
    const found = new Set<string>()
    for (let i = 0; i <= 8; i++) {
      const at = Math.floor((wal.length * i) / 8)
      const flipped = Math.min(at + 11, wal.length - 1)
      const others = [wal.subarray(0, at), Uint8Array.from(wal).with(flipped, (wal[flipped] ?? 0) ^ 0xff)]
      for (const other of others) {
        const { code, events } = await lookAtCopy(crashed, other)
        found.add(code)
        expect(events).toBeLessThanOrEqual(41)
      }
    }
    expect([...found].filter(code => !['right', 'KEYS_MISMATCH', 'CORRUPT'].includes(code))).toEqual([])
    expect(found).toContain('right')
    const gone = await lookAtCopy(crashed)
    expect(gone.code).toBe(isMoved ? 'right' : 'KEYS_MISMATCH')
    expect(gone.events).toBeLessThan(41)
  },
)

function replace(store: string): void {
  copyFileSync(store, `${store}-copy`)
  renameSync(`${store}-copy`, store)
}

test.each([
  ['moved away', (store: string) => renameSync(store, `${store}-elsewhere`)],
  ['deleted', (store: string) => rmSync(store)],
  ['replaced', replace],
  ['left without its -wal', (store: string) => rmSync(`${store}-wal`)],
  ['left without its -shm', (store: string) => rmSync(`${store}-shm`)],
])('nothing is acknowledged after the file was %s, and health reports it', async (_, act) => {
  const store = temporaryStore()
  const subscriptions = [{ evento: 'e', chaveSecreta: 'chave-um' }]
  const { averba, portal, samples } = await openWorld({ store, averba: { subscriptions } })
  await applyPlan(averba)
  act(store)
  expect(await deliver({ portal }, 'x', 'e')).toMatchObject([{ isDelivered: false }])
  const message = expect.stringContaining('was moved, replaced or deleted')
  const enrolling = averba.consents.enrol({ cpf: samples.cpf })
  await expect(enrolling).rejects.toMatchObject({ code: 'STORE_UNSAFE', message })
  const { ready, reasons } = await averba.health()
  expect(ready).toBe(false)
  expect(reasons.join()).toContain('was moved, replaced or deleted')
})

test('a relative store path keeps working after the process changes its working directory', async () => {
  const answer = await runCode(`
    const { openAverba } = await import('./src/index.ts')
    const { basename, dirname } = await import('node:path')
    const store = ${JSON.stringify(temporaryStore())}
    process.chdir(dirname(store))
    const averba = await openAverba({ store: basename(store) })
    process.chdir('/')
    await averba.consents.enrol({ cpf: '52998224725' })
    console.log(JSON.stringify(await averba.health({ only: ['store', 'writing'] })))
    await averba.close()
  `)
  expect(answer).toMatchObject({ ready: true })
})
