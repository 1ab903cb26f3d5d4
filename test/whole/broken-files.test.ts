import { execFile, spawn } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { AverbaError, diagnoseStore, openAverba, systemClock, valueOf } from '../../src/index.ts'
import { formatBrasilia } from '../../src/vocabulary/brasilia.ts'
import { copyStore, makeSampleStore } from '../support/sample-store.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine, openWorld } from '../support/world.ts'

const root = resolve(import.meta.dirname, '../..')
const index = JSON.stringify(join(root, 'src/index.ts'))
const notify = `
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }
  const notify = async (averba, i) => {
    const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
    const request = new Request(receiver.publicUrl, { method: 'POST', headers, body: JSON.stringify({ i }) })
    return (await averba.receiver.fetch(request, { remoteAddress: '189.9.1.2' })).status
  }`

/** Runs a script in a process of its own, within a limit on what it may write to a file, and parses its last line. */
async function inChild(script: string, limitKb = 'unlimited') {
  const command = `trap '' XFSZ; ulimit -S -f ${limitKb}; exec "$0" --input-type=module -e "$1"`
  const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, notify + script], {
    cwd: root,
  })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

async function countOf(store: string): Promise<number> {
  const averba = await openEngine({ store })
  const rows = await averba.views.selectFrom('notifications').select('notification').execute()
  await averba.close()
  return rows.length
}

test('a full disk is reported, nothing acknowledged is lost, and the log continues with room', async () => {
  const store = temporaryStore()
  const full = await inChild(
    `
    const { openAverba } = await import(${index})
    const lines = []
    const averba = await openAverba({ store: ${JSON.stringify(store)}, receiver, logger: line => lines.push(line) })
    let stored = 0
    while (await notify(averba, stored) === 200) stored += 1
    const again = await notify(averba, stored)
    const error = await averba.consents.enrol({ cpf: '25774435016' }).catch(error => error)
    const { execFileSync } = await import('node:child_process')
    const readable = (await averba.views.selectFrom('notifications').select('notification').execute()).length
    const { code, message, hint } = error
    const full = { stored, again, readable, code, message, hint, lines }
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'])
    const goesOn = await notify(averba, stored)
    await averba.close()
    console.log(JSON.stringify({ ...full, goesOn }))
    `,
    '2000',
  )
  expect(full.stored).toBeGreaterThan(20)
  expect(full).toMatchObject({ again: 503, code: 'STORE_UNSAFE', readable: full.stored, goesOn: 200 })
  expect(full.message).toMatch(/the disk (is full|failed)/)
  expect(full.hint).toEqual(expect.any(String))
  expect(full.lines).toContainEqual({
    message: expect.stringContaining('answered 503'),
    error: 'STORE_UNSAFE',
  })
  expect(await countOf(store)).toBe(full.stored + 1)
  const averba = await openEngine({ store })
  expect(await averba.consents.enrol({ cpf: '25774435016' })).toHaveLength(26)
  await averba.close()
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('a backup without room on the disk leaves no file behind', async () => {
  const [store, backup] = [await makeSampleStore(100), temporaryStore()]
  const { code } = await inChild(
    `
    const { backupStore } = await import(${index})
    const error = await backupStore({ store: ${JSON.stringify(store)}, to: ${JSON.stringify(backup)} }).catch(error => error)
    console.log(JSON.stringify({ code: error.code }))
    `,
    '100',
  )
  expect(code).toBe('STORE_UNSAFE')
  expect(existsSync(backup)).toBe(false)
  expect((await promisify(execFile)('ls', [dirname(backup)])).stdout).toBe('')
})

test('a file or folder that this user may not write is reported', async () => {
  const modes = { file: [0o444, 0o777], folder: [0o666, 0o555], both: [0o444, 0o555] } as const
  const existing: string[] = []
  for (const [fileMode, folderMode] of Object.values(modes)) {
    const store = await makeSampleStore(1)
    chmodSync(store, fileMode)
    chmodSync(dirname(store), folderMode)
    existing.push(store)
  }
  const absent = temporaryStore()
  chmodSync(dirname(absent), 0o555)
  // Loads everything first, then becomes an unprivileged user: root may write everywhere.
  const errors = await inChild(`
    const { openAverba } = await import(${index})
    await (await openAverba({ store: ':memory:' })).close()
    if (process.getuid() === 0) { process.setgroups([]); process.setgid(65534); process.setuid(65534) }
    const errors = []
    for (const store of ${JSON.stringify([...existing, absent])}) {
      const { code, message, hint } = await openAverba({ store }).then(() => ({ code: 'opened' }), error => error)
      errors.push({ code, message, hint })
    }
    console.log(JSON.stringify(errors))
  `)
  for (const store of [...existing, absent]) chmodSync(dirname(store), 0o755)
  const message = expect.stringMatching(/cannot be written/)
  const hint = expect.stringMatching(/write the file and its folder/)
  const refused = Object.keys(modes).map(() => ({ code: 'STORE_UNSAFE', message, hint }))
  expect(errors).toEqual([...refused, expect.objectContaining({ code: 'STORE_UNSAFE' })])
  expect(existsSync(absent)).toBe(false)
})

test('a file locked by another process is STORE_BUSY, and works after the lock is released', async () => {
  const store = await makeSampleStore(1)
  const averba = await openEngine({ store })
  const script = `
    const { default: Sqlite } = await import('better-sqlite3')
    const database = new Sqlite(${JSON.stringify(store)})
    database.exec('begin exclusive')
    console.log('locked')
    process.stdin.on('end', () => database.close()).resume()
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await new Promise(resolve => child.stdout.once('data', resolve))
  const [opening, appending] = await Promise.all([
    openAverba({ store }).catch(error => error),
    averba.consents.enrol({ cpf: '52998224725' }).catch(error => error),
  ])
  for (const error of [opening, appending])
    expect(error).toMatchObject({ name: 'AverbaError', code: 'STORE_BUSY', hint: expect.any(String) })
  expect(await averba.notifications.list()[Symbol.asyncIterator]().next()).toMatchObject({ done: false })
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.stdin.end()
  await ended
  expect(await averba.consents.enrol({ cpf: '52998224725' })).toHaveLength(26)
})

test('a notification during a lock is answered 503, and is stored once after the lock', async () => {
  const store = temporaryStore()
  const evento = 'e'
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }
  const headers = { 'event-type': evento, 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
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
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan()))
    expect(each.status).toBe('settled')
  const inbox = () => averba.views.selectFrom('notifications').select('origin').execute()
  const holder = new Sqlite(store)
  holder.exec('begin immediate')
  const body = '{"numero":"26BR1"}'
  const sent = new Request(receiver.publicUrl, { method: 'POST', headers, body })
  expect((await averba.receiver.fetch(sent, { remoteAddress: '189.9.1.2' })).status).toBe(503)
  expect(await inbox()).toEqual([])
  holder.exec('rollback')
  holder.close()
  await expect.poll(inbox, { timeout: 10_000 }).toEqual([{ origin: 'delivered' }])
  const [record] = await averba.subscriptions.failures({ recover: true })
  expect(record).toMatchObject({ recovery: 'stored' })
  expect(await inbox()).toHaveLength(1)
})

describe('what is no log is said, and left as it is', () => {
  test.each([
    ['a folder', (path: string) => mkdirSync(path), 'NOT_OURS'],
    ['a text', (path: string) => writeFileSync(path, 'a text that is no database\n'.repeat(99)), 'NOT_OURS'],
    ['zeros', (path: string) => writeFileSync(path, Buffer.alloc(8192)), 'NOT_OURS'],
    [
      'a database of another program',
      (path: string) => new Sqlite(path).exec('create table t (a)').close(),
      'NOT_OURS',
    ],
    [
      'a device',
      (path: string) => promisify(execFile)('ln', ['-s', '/dev/full', path]),
      expect.stringMatching(/STORE_UNSAFE|NOT_OURS/),
    ],
  ])('%s', async (_, make, code) => {
    const path = temporaryStore()
    await make(path)
    const bytes = statSync(path).isFile() ? readFileSync(path) : undefined
    const hint = expect.any(String)
    await expect(openAverba({ store: path })).rejects.toMatchObject({ name: 'AverbaError', code, hint })
    expect(existsSync(`${path}.keys`)).toBe(false)
    if (bytes) expect(readFileSync(path)).toEqual(bytes)
    await expect(diagnoseStore({ store: path })).rejects.toMatchObject({ name: 'AverbaError', hint })
  })
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

test('a file cut off at any size is reported, or is still complete', async () => {
  const sample = await makeSampleStore(30)
  const { size } = statSync(sample)
  const sizes = [0, 1, 15, 16, 99, 100, 101, 511, 512, 1_023, 4_095]
  for (let page = 4_096; page < size; page += 8_192) sizes.push(page, page + 1, page + 4_095)
  const codes = new Set<string>()
  for (const cut of sizes.filter(each => each < size)) {
    const store = copyStore(sample)
    truncateSync(store, cut)
    codes.add((await lookAt(store)).code)
  }
  expect([...codes].sort()).toEqual(['CORRUPT', 'KEYS_MISMATCH', 'NOT_OURS'])
})

test('diagnoseStore reports a cut-off file whenever opening it does', async () => {
  const sample = await makeSampleStore(3)
  const { size } = statSync(sample)
  const store = copyStore(sample)
  truncateSync(store, size - 100)
  await expect(openAverba({ store })).rejects.toMatchObject({ code: 'CORRUPT' })
  const isCutOff = {
    code: 'CORRUPT',
    message: expect.stringMatching(/it ends within a page: it was cut off$/),
  }
  await expect(diagnoseStore({ store })).rejects.toMatchObject(isCutOff)
  for (const cut of [50, 71, 72, 100, 600]) {
    truncateSync(store, cut)
    await expect(openAverba({ store })).rejects.toMatchObject({ code: 'CORRUPT' })
    await expect(diagnoseStore({ store })).rejects.toMatchObject({ code: 'CORRUPT' })
  }
  // With any content of the last page.
  const small = temporaryStore()
  await (await openAverba({ store: small })).close()
  truncateSync(small, statSync(small).size - 100)
  await expect(diagnoseStore({ store: small })).rejects.toMatchObject(isCutOff)
})

describe('a write-ahead log that was left by a crash', () => {
  const dying = (store: string, isCheckpointed: boolean) => `
    const { openAverba } = await import(${index})
    const { default: Sqlite } = await import('better-sqlite3')
    const averba = await openAverba({ store: ${JSON.stringify(store)}, receiver })
    for (let i = 0; i < 40; i++) {
      if (await notify(averba, i) !== 200) throw new Error('not stored')
      if (${isCheckpointed} && i === 20) new Sqlite(${JSON.stringify(store)}).pragma('wal_checkpoint(passive)')
    }
    console.log(JSON.stringify({ stored: 40 }))
    process.stdout.write('', () => process.kill(process.pid, 'SIGKILL'))
    await new Promise(() => undefined)
  `
  async function makeCrashed(isCheckpointed: boolean): Promise<string> {
    const store = temporaryStore()
    const died = await inChild(dying(store, isCheckpointed)).catch(error => error)
    expect(died).toMatchObject({ signal: 'SIGKILL', stdout: expect.stringContaining('"stored":40') })
    return store
  }
  const copyOf = (crashed: string, change: (wal: Buffer) => Buffer | undefined) => {
    const store = copyStore(crashed)
    const wal = change(readFileSync(`${crashed}-wal`))
    if (wal) writeFileSync(`${store}-wal`, wal)
    return store
  }

  test.each([
    ['never moved into the file', false],
    ['partly moved into the file', true],
  ])('%s: intact it loses nothing; damaged or missing it is consistent or reported', async (_, isMoved) => {
    const crashed = await makeCrashed(isMoved)
    const whole = await lookAt(copyOf(crashed, wal => wal))
    expect(whole).toEqual({ code: 'right', events: 41 })
    const { size } = statSync(`${crashed}-wal`)
    const found = new Set<string>()
    for (let i = 0; i <= 24; i++) {
      const at = Math.floor((size * i) / 24)
      const cut = await lookAt(copyOf(crashed, wal => wal.subarray(0, at)))
      const flipped = await lookAt(
        copyOf(crashed, wal => {
          const copy = Buffer.from(wal)
          copy[Math.min(at + 11, size - 1)] = (copy[Math.min(at + 11, size - 1)] ?? 0) ^ 0xff
          return copy
        }),
      )
      for (const { code, events } of [cut, flipped]) {
        found.add(code)
        expect(events).toBeLessThanOrEqual(41)
      }
    }
    expect([...found].filter(code => !['right', 'KEYS_MISMATCH', 'CORRUPT'].includes(code))).toEqual([])
    expect(found).toContain('right')
    const gone = await lookAt(copyOf(crashed, () => undefined))
    expect(gone.code).toBe(isMoved ? 'right' : 'KEYS_MISMATCH')
    expect(gone.events).toBeLessThan(41)
  })
})

test.each([
  ['moved away', (store: string) => renameSync(store, `${store}-elsewhere`)],
  ['deleted', (store: string) => rmSync(store)],
  [
    'replaced',
    (store: string) => {
      copyFileSync(store, `${store}-copy`)
      renameSync(`${store}-copy`, store)
    },
  ],
  ['left without its -wal', (store: string) => rmSync(`${store}-wal`)],
  ['left without its -shm', (store: string) => rmSync(`${store}-shm`)],
])('nothing is acknowledged after the file was %s, and health reports it', async (_, act) => {
  const store = temporaryStore()
  const subscriptions = [{ evento: 'e', chaveSecreta: 'chave-um' }]
  const { averba, portal, samples } = await openWorld({ store, averba: { subscriptions } })
  for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(each)
  act(store)
  const about = { evento: 'e', destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj } as const
  expect(await portal.notify({ ...about, body: 'x' })).toMatchObject([{ isDelivered: false }])
  await expect(averba.consents.enrol({ cpf: samples.cpf })).rejects.toMatchObject({
    code: 'STORE_UNSAFE',
    message: expect.stringContaining('was moved, replaced or deleted'),
  })
  const { ready, reasons } = await averba.health()
  expect(ready).toBe(false)
  expect(reasons.join()).toContain('was moved, replaced or deleted')
})

test('a relative store path keeps working after the process changes its working directory', async () => {
  const answer = await inChild(`
    const { openAverba } = await import(${index})
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
