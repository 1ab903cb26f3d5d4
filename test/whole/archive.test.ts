import { execFile } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import { createIds } from '../../src/clock.ts'
import {
  type Averba,
  archiveParts,
  diagnoseStore,
  type Events,
  openAverba,
  restoreParts,
} from '../../src/index.ts'
import { seededEntropy, simulate, VirtualClock } from '../../src/simulation/index.ts'
import { whereAre } from '../../src/store/concerning.ts'
import { Owners } from '../../src/store/owners.ts'
import { Snapshot } from '../../src/store/snapshot.ts'
import { Store } from '../../src/store/store.ts'
import { views } from '../../src/views/views.ts'
import { copyStore, makeSampleStore, newPath } from '../store/sample-store.ts'

const later = '2100-01-01'

/** What may not change: every header and leaf but those of the moves, and every row of every view. */
function groundOf(store: string) {
  const database = new Sqlite(store, { readonly: true })
  const views = database.prepare('select view from projection order by view').pluck().all() as string[]
  const rows = views.map(view => database.prepare(`select * from ${view} order by 1`).all())
  const events = database.prepare("select header, leaf from event where type not like 'log.parts%'").all()
  const parts = database.prepare('select position, name, sealed from part order by 1, 2').all() as PartRow[]
  database.close()
  return { fixed: { rows, events }, parts }
}

/** The parts that events of a type name. */
async function placesOf(averba: Averba, type: 'log.partsArchived' | 'retention.applied'): Promise<string[]> {
  const named: string[] = []
  for await (const { data } of averba.log.read({ types: [type] }))
    named.push(...(data as Events['log.partsArchived']).parts) // By its type: both have them.
  return named
}

interface PartRow {
  position: number
  name: string
  sealed: Buffer
}

test('parts move out and back, and headers, leaves, views and replay stay as they are', async () => {
  const store = await makeSampleStore(520)
  const before = groundOf(store)
  const bundle = newPath()
  const moved = await archiveParts({ store, before: later, to: bundle })
  const out = groundOf(store)
  expect(out.fixed).toEqual(before.fixed)
  expect(out.parts.length + (moved?.count ?? 0)).toBe(before.parts.length)
  expect(moved?.count).toBeGreaterThan(520)
  const { problems, checked } = await diagnoseStore({ store, isDeep: true })
  expect(problems).toEqual([])
  expect(checked?.archivedParts).toBe(moved?.count)

  // The bytes are gone from the file, and they are in the bundle, still sealed.
  const file = readFileSync(store)
  const kept = new Set(out.parts.map(part => `${part.position}/${part.name}`))
  const gone = before.parts.filter(part => !kept.has(`${part.position}/${part.name}`))
  expect(gone.filter(part => file.includes(part.sealed))).toEqual([])
  const text = readFileSync(bundle, 'utf8')
  expect(gone.filter(part => !text.includes(part.sealed.toString('base64')))).toEqual([])

  const averba = await openAverba({ store })
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  const moves = []
  for await (const event of averba.log.read({ types: ['log.partsArchived'] })) moves.push(event.data)
  const places = gone.map(part => `${part.position}/${part.name}`)
  // Named one by one, and no more by one event than a header of kilobytes holds.
  expect(moves).toEqual([
    { bundle: moved?.bundle, parts: places.slice(0, 500) },
    { bundle: moved?.bundle, parts: places.slice(500) },
  ])
  await averba.close()

  await restoreParts({ store, from: bundle })
  const back = groundOf(store)
  expect(back).toEqual(before)
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({
    problems: [],
    checked: { archivedParts: 0 },
  })
  // Again is no matter, and moves nothing.
  await restoreParts({ store, from: bundle })
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({
    problems: [],
    checked: { archivedParts: 0 },
  })
})

test('what later calls and lists open stays, and a part that moved says where it went', async () => {
  const store = newPath()
  const options = { averba: { store } }
  const first = await simulate(options)
  const subject = await first.averba.consents.enrol({ cpf: first.samples.cpf })
  await first.averba.consents.sync({ subject })
  await first.averba.awareness.list({ subject })
  const validation = { id: 'p1', cpf: first.samples.cpf, claims: { nome: 'X' } }
  await first.averba.validations.validate(validation)
  await first.averba.subscriptions.plan()
  const consents = await first.averba.consents.list({ subject })
  const moved = await archiveParts({ store, before: later, to: newPath(), clock: first.clock })
  expect(moved?.count).toBe(2)

  const { averba } = first
  expect(await averba.consents.list({ subject })).toEqual(consents)
  expect(await averba.awareness.list({ subject })).toHaveLength(1)
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  expect(await averba.consents.approve({ subject, id: pending?.id ?? '' })).toMatchObject({
    status: 'settled',
  })
  expect((await averba.subscriptions.plan()).changes).toEqual([])
  await expect(averba.validations.validate(validation)).rejects.toMatchObject({
    code: 'PART_ARCHIVED',
    hint: expect.stringContaining(moved?.bundle ?? '-'),
  })
  // A list goes on past what was moved out, and says so.
  expect(await averba.validations.validate({ ...validation, id: 'p2' })).toMatchObject({ status: 'settled' })
  const listed = []
  for await (const each of averba.validations.list()) listed.push(each)
  expect(listed).toMatchObject([
    { id: 'p1', state: 'answered', fields: {}, isArchived: true },
    { id: 'p2', state: 'answered', fields: { nome: expect.anything() } },
  ])
  expect(listed[1]).not.toHaveProperty('isArchived')
  const opened = (await averba.effects.list()).flatMap(owed => Object.values(owed.opens ?? {}))
  expect(opened.length).toBeGreaterThan(5)
  await averba.close()
})

test('who asks for a part that moved is told its own bundle, of several over the same events', async () => {
  const store = newPath()
  const { averba, clock, samples } = await simulate({ averba: { store } })
  const ask = (id: string) => averba.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' } })
  const archive = async (to: string) => (await archiveParts({ store, before: later, to, clock }))?.bundle
  const bundles = [newPath(), newPath(), newPath()] as const
  const whereOf = async (id: string) => {
    const error = await ask(id).catch(thrown => thrown)
    return error.code === 'PART_ARCHIVED' ? / ([0-9a-f]{64})$/.exec(error.hint)?.[1] : error.status
  }
  await ask('p1')
  const first = await archive(bundles[0])
  expect(await whereOf('p1')).toBe(first)
  await ask('p2')
  const second = await archive(bundles[1])
  expect([await whereOf('p1'), await whereOf('p2')]).toEqual([first, second])
  await restoreParts({ store, from: bundles[0], clock })
  expect([await whereOf('p1'), await whereOf('p2')]).toEqual(['settled', second])
  await restoreParts({ store, from: bundles[1], clock })
  const third = await archive(bundles[2])
  expect([await whereOf('p1'), await whereOf('p2')]).toEqual([third, third])
  await restoreParts({ store, from: bundles[0], clock })
  expect([await whereOf('p1'), await whereOf('p2')]).toEqual(['settled', third])
  await averba.close()
})

test('what is gone without having moved is not said to be in a bundle over the same events', async () => {
  const [store, bundle] = [await makeSampleStore(4), newPath()]
  const before = groundOf(store)
  await archiveParts({ store, before: later, to: bundle })
  const stayed = new Set(groundOf(store).parts.map(placeOf))
  const moved = before.parts.filter(part => !stayed.has(placeOf(part)))
  const [from = 0, to = 0] = [moved.at(0)?.position, moved.at(-1)?.position]
  const between = groundOf(store).parts.filter(({ position }) => from < position && position < to)
  const [one, other] = [moved.slice(-1), between.slice(-1)]
  const whereOf = async (parts: PartRow[]) => {
    const snapshot = await Snapshot.open(store)
    const found = snapshot.run(() => whereAre(parts))
    snapshot.close()
    return found
  }
  const remove = ([part]: PartRow[]) => {
    const database = new Sqlite(store)
    const { changes } = database
      .prepare('delete from part where position = ? and name = ?')
      .run(part?.position, part?.name)
    database.close()
    expect(changes).toBe(1)
  }
  expect(await whereOf([...one, ...other])).toEqual(['archived', 'held'])
  remove(other)
  expect(await whereOf([...one, ...other])).toEqual(['archived', 'gone'])
  await restoreParts({ store, from: bundle })
  expect(await whereOf(one)).toEqual(['held'])
  remove(one)
  expect(await whereOf(one)).toEqual(['gone'])
})

test('parts that an effect still has to open stay, and so do those recorded later', async () => {
  const store = await makeSampleStore(2)
  const at = new Sqlite(store, { readonly: true })
  const open = at.prepare('select position from effect where is_open = 1').pluck().get() as number
  at.close()
  expect(await archiveParts({ store, before: '2026-11-20', to: newPath() })).toBeUndefined()
  await archiveParts({ store, before: later, to: newPath() })
  const { parts } = groundOf(store)
  expect(parts.filter(part => part.position === open).map(part => part.name)).toEqual(['claims'])
  expect(await archiveParts({ store, before: later, to: newPath() })).toBeUndefined()
})

test('a part that was taken out beyond what was moved is found', async () => {
  const store = await makeSampleStore(2)
  await archiveParts({ store, before: later, to: newPath() })
  const database = new Sqlite(store)
  // Of those that stayed, one in the middle of those that moved.
  expect(database.prepare("delete from part where name = 'claims'").run().changes).toBe(1)
  database.close()
  expect((await diagnoseStore({ store, isDeep: true })).problems.join()).toMatch(
    /^parts: the part "claims" at \d+ is missing, and no event says why$/,
  )
})

test('a bundle is put back only as it was, and only into its own log', async () => {
  const [store, bundle] = [await makeSampleStore(2), newPath()]
  const untouched = copyStore(store)
  await archiveParts({ store, before: later, to: bundle })
  const text = readFileSync(bundle, 'utf8')
  const lines = text.split('\n')
  const damage = async (wrong: string) => {
    const path = newPath()
    writeFileSync(path, wrong)
    const code = await restoreParts({ store, from: path }).then(
      () => 'restored',
      error => {
        expect(error.hint, wrong.slice(0, 40)).toEqual(expect.any(String))
        return error.code
      },
    )
    return code
  }
  expect(await damage('')).toBe('NOT_OURS')
  expect(await damage('{}\n')).toBe('NOT_OURS')
  expect(await damage(lines.toSpliced(2, 1).join('\n'))).toBe('CORRUPT')
  expect(await damage(text.slice(0, -40))).toBe('CORRUPT')
  expect(await damage(text.replace('"sealed":"', '"sealed":"AAAA'))).toBe('CORRUPT')
  expect(await damage(text.replace('"name":"', '"name":"x'))).toBe('CORRUPT')
  expect(await damage(text.replace('log_', 'log_0'))).toBe('INVALID_INPUT')
  await expect(restoreParts({ store: untouched, from: bundle })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining('nothing was moved out to it'),
  })
  await expect(restoreParts({ store, from: newPath() })).rejects.toMatchObject({
    code: 'NOT_FOUND',
    hint: expect.any(String),
  })
  await expect(archiveParts({ store: newPath(), before: later, to: newPath() })).rejects.toMatchObject({
    code: 'NOT_FOUND',
  })
  await expect(archiveParts({ store, before: 'soon', to: newPath() })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  })
  expect(await damage(text)).toBe('restored')
})

/** Lets only the first event of a type through, as if the process had ended then. */
async function cutOff(store: string, type: string, work: () => Promise<unknown>): Promise<void> {
  const database = new Sqlite(store)
  database.exec(`create trigger cut_off before insert on event
    when new.type = '${type}' and exists (select 1 from event where type = '${type}')
    begin select raise(abort, 'cut off'); end`)
  await expect(work()).rejects.toThrow()
  database.exec('drop trigger cut_off')
  database.close()
}

/** What a deep look finds once this part is taken out of a copy. */
async function missing(store: string, { position, name }: PartRow): Promise<readonly string[]> {
  const copy = copyStore(store)
  const database = new Sqlite(copy)
  database.prepare('delete from part where position = ? and name = ?').run(position, name)
  database.close()
  return (await diagnoseStore({ store: copy, isDeep: true })).problems
}

const placeOf = ({ position, name }: PartRow) => `${position}/${name}`
const fault = ({ position, name }: PartRow) => [
  `parts: the part "${name}" at ${position} is missing, and no event says why`,
]

test('a move that was cut off in the middle has named what is gone, and can be made again', async () => {
  const [store, bundle, second] = [await makeSampleStore(520), newPath(), newPath()]
  const before = groundOf(store)
  await cutOff(store, 'log.partsArchived', () => archiveParts({ store, before: later, to: bundle }))
  const half = groundOf(store)
  expect(half.parts).toHaveLength(before.parts.length - 500)
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({
    problems: [],
    checked: { archivedParts: 500 },
  })
  // In the bundle, and not gone yet: it may not go but by an event.
  const [last] = half.parts.slice(-1)
  const text = readFileSync(bundle, 'utf8')
  expect(last && text.includes(last.sealed.toString('base64'))).toBe(true)
  expect(last && (await missing(store, last))).toEqual(last && fault(last))

  const moved = await archiveParts({ store, before: later, to: second })
  expect(moved?.count).toBe(text.split('\n').length - 2 - 500)
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  await restoreParts({ store, from: second })
  await restoreParts({ store, from: bundle })
  expect(groundOf(store)).toEqual(before)
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('what came back is missed when it goes again, also where putting back was cut off', async () => {
  const [store, bundle] = [await makeSampleStore(520), newPath()]
  const before = groundOf(store)
  await archiveParts({ store, before: later, to: bundle })
  const out = groundOf(store)
  await cutOff(store, 'log.partsRestored', () => restoreParts({ store, from: bundle }))
  const half = groundOf(store)
  expect(half.parts).toHaveLength(out.parts.length + 500)
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({
    problems: [],
    checked: { archivedParts: before.parts.length - half.parts.length },
  })
  const there = new Set(out.parts.map(placeOf))
  const [back] = half.parts.filter(part => !there.has(placeOf(part)))
  expect(back && (await missing(store, back))).toEqual(back && fault(back))
  const count = before.parts.length - out.parts.length
  const said = { count, returned: count - 500, keyless: 0 }
  expect(await restoreParts({ store, from: bundle })).toMatchObject(said)
  expect(groundOf(store)).toEqual(before)
  expect(await restoreParts({ store, from: bundle })).toMatchObject({ ...said, returned: 0 })
})

test('averba archive says what it put back, and that nothing was out the second time', async () => {
  const [store, bundle] = [newPath(), newPath()]
  const averba = await openAverba({ store, receiver: { publicUrl: 'https://receptor.exemplo.br/averba' } })
  const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
  const sent = { method: 'POST', headers, body: '{}' }
  const request = new Request('https://receptor.exemplo.br/averba', sent)
  expect((await averba.receiver.fetch(request, { remoteAddress: '189.9.1.2' })).status).toBe(200)
  await averba.close()
  const main = resolve(import.meta.dirname, '../../src/cli/main.ts')
  const run = async (...args: string[]) =>
    (await promisify(execFile)(process.execPath, [main, 'archive', store, ...args])).stdout
  expect(await run('--before', later, '--to', bundle)).toMatch(/^Moved 1 part of events (\d+) to \1 to /)
  const back = await run('--restore', bundle)
  expect(back).toMatch(/^Put back 1 part of events (\d+) to \1, as the headers name them\.\n$/)
  expect(await run('--restore', bundle)).toBe('Nothing to put back. In the log already: 1 part.\n')
})

test('what was destroyed since a move was cut off, or before it came to it, does not come back', async () => {
  const [store, bundle] = [await makeSampleStore(520), newPath()]
  await cutOff(store, 'log.partsArchived', () => archiveParts({ store, before: later, to: bundle }))
  const clock = new VirtualClock('2100-01-01T00:00:00.000Z')
  const averba = await openAverba({ store, clock, retention: { 'notification.body': { days: 1 } } })
  await averba.settle()
  await averba.close()
  const destroyed = groundOf(store)
  expect(destroyed.parts.filter(part => part.name === 'body')).toEqual([])
  const back = await restoreParts({ store, from: bundle })
  expect(back.count).toBe(500)
  expect(back.keyless).toBeGreaterThan(0)
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('retention destroys what is there, and not what moved out while it looked', async () => {
  const [store, bundle] = [await makeSampleStore(20), newPath()]
  const clock = new VirtualClock('2099-12-31T00:00:00.000Z')
  const look = Owners.prototype.agedParts
  vi.spyOn(Owners.prototype, 'agedParts').mockImplementationOnce(async function (this: Owners, ...asked) {
    const page = await look.apply(this, asked)
    await archiveParts({ store, before: later, to: bundle, clock })
    return page
  })
  const averba = await openAverba({ store, clock, retention: { 'notification.body': { days: 1 } } })
  await averba.settle()
  const moved = await placesOf(averba, 'log.partsArchived')
  expect(moved.filter(place => place.endsWith('/body'))).toHaveLength(20)
  expect(await placesOf(averba, 'retention.applied')).toEqual([])
  await averba.close()
  await restoreParts({ store, from: bundle, clock })
  expect(await diagnoseStore({ store, isDeep: true })).toMatchObject({
    problems: [],
    checked: { erasedParts: 0, archivedParts: 0 },
  })
})

test('what the log says was destroyed comes back from no bundle, and is reported where it stands', async () => {
  const [store, bundle] = [await makeSampleStore(3), newPath()]
  const bodies = groundOf(store).parts.filter(part => part.name === 'body')
  const [first, second, third] = bodies.map(placeOf)
  const clock = new VirtualClock('2099-12-31T00:00:00.000Z')
  /** Says that parts were destroyed, and leaves them where they are. */
  const say = async (...parts: unknown[]) => {
    const entropy = seededEntropy(9)
    const opened = await Store.open({
      path: store,
      views,
      clock,
      entropy,
      createId: createIds(clock, entropy),
    })
    const stream = 'retention-notification.body'
    const data = { kind: 'notification.body', rule: '1 days', parts }
    await opened.append({
      at: new Date(clock.now()).toISOString(),
      streams: [{ stream, expect: 'any' }],
      events: [
        {
          stream,
          event: { type: 'retention.applied', data },
          because: 'retention.apply',
          machine: { name: 'retention', version: 1 },
        },
      ],
    })
    await opened.close()
  }
  const moved = await archiveParts({ store, before: later, to: bundle, clock })
  await say(first, second)
  expect(await restoreParts({ store, from: bundle, clock })).toMatchObject({ count: (moved?.count ?? 0) - 2 })
  expect(groundOf(store).parts.filter(part => part.name === 'body')).toEqual(bodies.slice(2))
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  await say(third)
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([
    expect.stringContaining(`the part "body" at ${bodies[2]?.position} was destroyed, and is there`),
  ])
})

test('what of a bundle is no more there when its turn comes is not named as moved', async () => {
  const store = await makeSampleStore(520)
  const before = groundOf(store)
  const bodies = before.parts.filter(part => part.name === 'body')
  const paths = [newPath(), newPath()]
  const moves = await Promise.all(paths.map(to => archiveParts({ store, before: later, to })))
  const averba = await openAverba({ store })
  const named = await placesOf(averba, 'log.partsArchived')
  await averba.close()
  expect(new Set(named).size).toBe(named.length)
  expect(named.length).toBe(before.parts.length - groundOf(store).parts.length)
  expect(named).toEqual(expect.arrayContaining(bodies.map(placeOf)))
  // Each says what it moved itself, and one that moved nothing leaves no bundle.
  expect(moves.reduce((sum, moved) => sum + (moved?.count ?? 0), 0)).toBe(named.length)
  expect(paths.map(path => existsSync(path))).toEqual(moves.map(moved => moved !== undefined))
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
})

test('who finds all of it moved by somebody else leaves no bundle, and does not say that it moved any', async () => {
  const [store, faster, slower] = [await makeSampleStore(3), newPath(), newPath()]
  const run = Snapshot.open
  // In between: the slower one has seen which parts there are, and moves none of them yet.
  vi.spyOn(Snapshot, 'open').mockImplementationOnce(async (...asked) => {
    const snapshot = await run(...asked)
    await archiveParts({ store, before: later, to: faster })
    return snapshot
  })
  expect(await archiveParts({ store, before: later, to: slower })).toBeUndefined()
  expect([existsSync(faster), existsSync(slower)]).toEqual([true, false])
  expect(await restoreParts({ store, from: faster })).toMatchObject({ keyless: 0 })
})

test('the command moves out beside a running engine, and puts back', async () => {
  const [store, bundle] = [await makeSampleStore(20), newPath()]
  const root = resolve(import.meta.dirname, '../..')
  const averba = (...args: string[]) =>
    promisify(execFile)(process.execPath, ['src/cli/main.ts', 'archive', store, ...args], { cwd: root })
  const engine = await openAverba({ store })
  const out = await averba('--before', later, '--to', bundle)
  expect(out.stdout).toMatch(/^Moved \d+ parts of events \d+ to \d+ to /)
  expect(existsSync(bundle)).toBe(true)
  expect((await engine.notifications.list()[Symbol.asyncIterator]().next()).value).toMatchObject({
    body: null,
  })
  expect(await engine.consents.enrol({ cpf: '52998224725' })).toHaveLength(26)
  const back = JSON.parse((await averba('--restore', bundle, '--json')).stdout)
  expect(back).toMatchObject({ keyless: 0 })
  expect((await engine.notifications.list()[Symbol.asyncIterator]().next()).value).toMatchObject({
    body: { i: 0 },
  })
  await engine.close()
  await expect(averba('--before', later)).rejects.toMatchObject({ code: 1 })
})
