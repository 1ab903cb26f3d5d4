import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Averba, HandlerError, HandlerOptions, LogLine, Notification } from '../../../src/index.ts'
import { samples, seededEntropy, VirtualClock } from '../../../src/simulation/index.ts'
import { checkOf } from '../../support/check-of.ts'
import { countTurns } from '../../support/count-turns.ts'
import { eventsOf } from '../../support/events-of.ts'
import { notify } from '../../support/notify.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { inboxOf } from '../../support/portal.ts'
import { refuses } from '../../support/refuses.ts'
import { tellEach, tellStory } from '../../support/tell-story.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const evento = 'e'
const actor = { kind: 'person', ref: 'operadora-7' } as const
const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' } as const

/** An engine, and a way to open more on its store with its clock. All share their log lines. */
async function given() {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const said: LogLine[] = []
  const openOne = (seed: number) =>
    openEngine({ store, clock, entropy: seededEntropy(seed), receiver, logger: line => void said.push(line) })
  return { averba: await openOne(1), clock, said, openOne }
}

async function send(averba: Averba, body: unknown, headers?: Record<string, string>): Promise<void> {
  expect((await notify(averba, body, { 'event-type': evento, ...headers })).status).toBe(200)
}

async function sendAll(averba: Averba, ...numbers: number[]): Promise<void> {
  for (const n of numbers) await send(averba, { n })
}

type Numbered = Notification<{ n: number }>

/** Handles notifications by their numbers. Returns those for which the work did not throw. */
function handle(averba: Averba, work: (n: number) => unknown = idle, options?: HandlerOptions<{ n: number }>) {
  const seen: number[] = []
  const handler = async ({ body: { n } }: Numbered) => {
    await work(n)
    seen.push(n)
  }
  averba.notifications.handle(evento, 'crm', handler, options)
  return seen
}

const idle = async () => {}
const fail = () => {
  throw new Error('no')
}

/** Advances until a handler that always fails is parked. */
const untilParked = (averba: Averba, clock: VirtualClock) => passTime({ averba, clock }, 15 * minuteMs, 14)

const numberOf = ({ body }: Notification) => (body as { n: number }).n
const statesOf = async (averba: Averba) => (await inboxOf(averba)).map(({ state }) => state)
const firstId = async (averba: Averba) => (await inboxOf(averba))[0]?.id ?? expect.fail('There is none')

test('a handler is called in order, once per notification of its event, not for copies', async () => {
  const { averba } = await given()
  await sendAll(averba, 1)
  const seen: unknown[] = []
  averba.notifications.handle(evento, 'crm', async ({ id, body, state, recipient, at }) => {
    const isStored = (await inboxOf(averba)).some(each => each.id === id)
    seen.push({ body, state, recipient, at, isStored })
  })
  await averba.settle()
  await sendAll(averba, 1)
  await send(averba, { n: 2 }, { 'event-type': 'outro' })
  await sendAll(averba, 3)
  await averba.settle()
  await averba.settle()
  const recipient = { tipo: 'CNPJ', id: '12ABC34501DE35' }
  const common = { state: 'received', recipient, at: '2026-11-20T12:00:00.000Z', isStored: true }
  expect(seen).toEqual([
    { body: { n: 1 }, ...common },
    { body: { n: 3 }, ...common },
  ])
  expect((await inboxOf(averba)).map(each => [numberOf(each), each.state, each.copies])).toEqual([
    [1, 'handled', 2],
    [2, 'received', 1],
    [3, 'handled', 1],
  ])
  expect((await inboxOf(averba, { state: 'received' })).map(numberOf)).toEqual([2])
  expect((await inboxOf(averba, { state: 'handled', evento })).map(numberOf)).toEqual([1, 3])
})

test('results in a row are committed together; only a crash repeats their calls', async () => {
  const world = await openWorld({ averba: { receiver } })
  const { averba, clock } = world
  const numbers = Array.from({ length: 40 }, (_, n) => n)
  await sendAll(averba, ...numbers)
  const seen: number[] = []
  handle(averba, n => {
    if (seen.push(n) === 36) world.crash()
  })
  let commits = 0
  averba.on('committed', () => {
    commits += 1
  })
  void averba.settle()
  await clock.runUntil(() => world.isDown)
  expect(commits).toBeLessThan(24)
  const next = await world.restart()
  handle(next, n => seen.push(n))
  await clock.advance(minuteMs + 1)
  await clock.finish(next.settle())
  expect(new Set(seen)).toEqual(new Set(numbers))
  const repeated = seen.length - 40
  expect(repeated).toBeGreaterThan(0)
  expect(repeated).toBeLessThanOrEqual(17)
  const handled = (await eventsOf({ averba: next }, 'notification.handled')).map(({ stream }) => stream)
  expect(handled).toHaveLength(40)
  expect(new Set(handled).size).toBe(40)
})

test('a failed notification is retried with growing waits, then parked, without delaying others', async () => {
  const { averba, clock, said } = await given()
  const tried: number[] = []
  const started = clock.now()
  const seen = handle(averba, n => {
    if (n !== 2) return
    tried.push((clock.now() - started) / 1_000)
    throw new RangeError('12ABC34501DE35')
  })
  await sendAll(averba, 1, 2, 3)
  await averba.settle()
  expect(seen).toEqual([1, 3])
  expect(await inboxOf(averba, { state: 'failing' })).toMatchObject([
    { handlers: [{ handler: 'crm', state: 'failing', attempts: 1, reason: 'RangeError' }] },
  ])
  // Each wait is looked at a second before its end too, and no call follows the last.
  for (const wait of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
    await passTime({ averba, clock }, (wait - 1) * 1_000)
    await passTime({ averba, clock }, 1_000)
  }
  expect(tried).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1_023, 1_923])
  const [parked] = await inboxOf(averba, { state: 'parked' })
  expect(parked).toMatchObject({ body: { n: 2 }, handlers: [{ state: 'parked', attempts: 12 }] })
  const named = { evento, handler: 'crm', notification: parked?.id, error: 'RangeError' }
  expect(said.filter(line => line.handler === 'crm')).toMatchObject([
    ...[1, 2, 4, 8].map(attempt => ({ message: 'a handler failed for a notification', ...named, attempt })),
    { message: 'a notification is parked', ...named, attempt: 12 },
  ])
  await sendAll(averba, 4)
  await averba.settle()
  expect(seen).toEqual([1, 3, 4])
})

test('the host gets the error of a handler, and the log does not', async () => {
  const { averba, said } = await given()
  const failed: HandlerError[] = []
  averba.on('handlerFailed', each => void failed.push(each))
  const error = new RangeError('12ABC34501DE35')
  const fail = () => {
    throw error
  }
  averba.notifications.handle(evento, 'crm', fail)
  averba.notifications.handle(evento, 'strict', idle, { schema: z.object({ n: z.string() }) })
  averba.notifications.handle(evento, 'keyed', idle, { key: fail })
  averba.log.follow('copy', ['notification.received'], fail)
  await sendAll(averba, 1)
  await averba.settle()
  const notification = await firstId(averba)
  const [{ position } = { position: 0 }] = await eventsOf({ averba }, 'notification.received')
  expect(failed).toHaveLength(4)
  expect(failed).toEqual(
    expect.arrayContaining([
      { handler: 'crm', evento, notification, error },
      { handler: 'strict', evento, notification, error: expect.any(z.ZodError) },
      { handler: 'keyed', evento, notification, error },
      { handler: 'copy', position, error },
    ]),
  )
  expect(JSON.stringify(said)).not.toContain('12ABC34501DE35')
})

test('a notification is replayed by id, also a handled one, but not one without handler calls', async () => {
  const { averba } = await given()
  const { notifications } = averba
  const seen = handle(averba)
  await sendAll(averba, 1)
  await send(averba, { n: 2 }, { 'event-type': 'outro' })
  await averba.settle()
  const [id = '', uncalled = ''] = (await inboxOf(averba)).map(each => each.id)
  expect(await notifications.replay({ id })).toBe(1)
  await averba.settle()
  expect(seen).toEqual([1, 1])
  await refuses('REFUSED', notifications.replay({ id, failed: true }))
  await refuses('REFUSED', notifications.replay({ id: uncalled }))
  await refuses('NOT_FOUND', notifications.replay({ id: 'nenhuma' }))
  await refuses('NOT_FOUND', notifications.skip('nenhuma'))
})

test('a replay during the last call is not lost when that call fails', async () => {
  const { averba, clock } = await given()
  let calls = 0
  handle(averba, async () => {
    calls += 1
    // The operator replays before the twelfth call, which would park it, has failed.
    if (calls === 12) expect(await averba.notifications.replay({ failed: true })).toBe(1)
    if (calls <= 12) fail()
  })
  await sendAll(averba, 1)
  await untilParked(averba, clock)
  expect(calls).toBe(13)
  expect(await statesOf(averba)).toEqual(['handled'])
})

test('a handler of an undeclared event is logged', async () => {
  const { averba, lines: said } = await openWorld({ averba: { receiver, subscriptions: [{ evento }] } })
  averba.notifications.handle(evento, 'crm', idle)
  expect(said).toEqual([])
  averba.notifications.handle('dimp-situacao-imprt', 'crm', idle)
  const message = 'a handler is for an event that no subscription declares'
  expect(said).toMatchObject([{ message, evento: 'dimp-situacao-imprt', handler: 'crm' }])
  const neither = averba.notifications.replay({} as { failed: true }) // As from JavaScript.
  await expect(neither).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test('a handler without a function, or with a slash in its name, is refused and its name stays free', async () => {
  const { notifications } = (await given()).averba
  const nothing = undefined as never // As from JavaScript.
  const refused = (hint: string) =>
    expect.objectContaining({ code: 'INVALID_INPUT', hint: expect.stringContaining(hint) })
  expect(() => notifications.handle(evento, 'crm', nothing)).toThrow(refused('handle('))
  notifications.handle(evento, 'crm', idle)
  // Two handlers could share a follower.
  expect(() => notifications.handle('due', 'lpco/crm', idle)).toThrow(refused('slash'))
  notifications.handle('due/lpco', 'crm', idle)
  notifications.handle('due', 'crm', idle)
  expect(() => notifications.handle('due', 'crm', idle)).toThrow('has this name')
})

/**
 * Plays a story about a handler `crm`, which is registered in each process.
 *
 * | step | meaning |
 * | --- | --- |
 * | `send a1 b1`, `send other` | notifications arrive with these bodies; one of another event |
 * | `broken`, `broken a1`, `broken 2 times`, `fixed` | the handler throws: always; for a body; so often; no more |
 * | `settle`, `until parked` | does what is due; until a handler that throws is parked |
 * | `restart`, `elsewhere replay` | another process goes on; replays the first one meanwhile |
 * | `erp fails` | another handler of the event always throws |
 * | `replay`, `replay failed 3`, `replayed by a a` | replays the first one; all that failed, so many; by whom |
 * | `skip`, `cannot skip` | a person has dealt with the first one; which is refused |
 * | `handled a1 b1` | the bodies for which the handler did not throw, in this order |
 * | `called a1 a1`, `calls 2` | the bodies that it was called with; how often |
 * | `states failing parked` | the states of the notifications |
 * | `handlers crm=handled` | the handlers of the first one, with their states |
 * | `attempts 2` | how often the only handler of the one that fails was tried |
 */
async function play(story: string, options?: HandlerOptions<string>): Promise<void> {
  const { averba: first, clock, openOne } = await given()
  const [called, handled]: [string[], string[]] = [[], []]
  let isBroken = (_: string) => false
  const crm = async ({ body }: Notification<string>) => {
    called.push(body)
    if (isBroken(body)) fail()
    handled.push(body)
  }
  const told = { averba: first, clock }
  const register = () => told.averba.notifications.handle(evento, 'crm', crm, options)
  register()
  const replay = async (by = told.averba) => by.notifications.replay({ id: await firstId(by) })
  const skip = async () => told.averba.notifications.skip(await firstId(told.averba), { actor })
  const handlers = async () => (await inboxOf(told.averba))[0]?.handlers ?? []
  await tellStory(
    told,
    {
      async 'send ...'(...bodies) {
        for (const body of bodies) await send(told.averba, body)
      },
      'send other': () => send(told.averba, 'other', { 'event-type': 'outro' }),
      broken(which, isCount) {
        const last = called.length + Number(which)
        isBroken = body => (isCount ? called.length <= last : !which || body === which)
      },
      fixed() {
        isBroken = () => false
      },
      settle: () => told.averba.settle(),
      'until parked': () => untilParked(told.averba, clock),
      async restart() {
        await told.averba.close()
        told.averba = await openOne(2)
        register()
      },
      'elsewhere replay': async () => expect(await replay(await openOne(2))).toBe(1),
      'erp fails': () => told.averba.notifications.handle(evento, 'erp', fail),
      replay: async () => expect(await replay()).toBe(1),
      'replay failed': async n =>
        expect(await told.averba.notifications.replay({ failed: true }, { actor })).toBe(Number(n)),
      'replayed by ...': async (...refs) =>
        expect((await eventsOf(told, 'notification.replayed')).map(each => each.actor?.ref)).toEqual(refs),
      skip,
      'cannot skip': () => refuses('REFUSED', skip()),
      'handled ...': (...bodies) => expect(handled).toEqual(bodies),
      'called ...': (...bodies) => expect(called).toEqual(bodies),
      calls: n => expect(called).toHaveLength(Number(n)),
      'states ...': async (...states) => expect(await statesOf(told.averba)).toEqual(states),
      'handlers ...': async (...all) =>
        expect((await handlers()).map(({ handler, state }) => `${handler}=${state}`).sort()).toEqual(all),
      attempts: async n =>
        expect(await inboxOf(told.averba, { state: 'failing' })).toMatchObject([
          { handlers: [{ attempts: Number(n) }] },
        ]),
    },
    story,
  )
}

tellEach(
  {
    'a wait set while the clock was ahead ends when the clock is corrected':
      'send 1, broken 1 times, clock +6 h, settle, clock -6 h, settle, calls 2',
    'a wait set while the clock was ahead ends when the clock is corrected, for the next process too':
      'send 1, broken 1 times, clock +6 h, settle, clock -6 h, restart, settle, calls 2',
    'parked notifications are replayed in order after the handler is fixed': `
      broken, send 1 2 3, until parked, states parked parked parked, fixed, settle, handled, send 4, replay failed 3,
      replay failed 0, settle, handled 4 1 2 3, states handled handled handled handled,
      replayed by operadora-7 operadora-7 operadora-7`,
    // A replay for another handler that failed is none for this one. It is skipped also while it is still tried again.
    'a notification that a person has dealt with is skipped, and called again only by a replay': `
      broken 13 times, send 1, cannot skip, until parked, skip, cannot skip, states handled, handlers crm=skipped,
      replay failed 0, until parked, calls 12, erp fails, settle, replay failed 1, settle, calls 12, skip, replay,
      settle, skip, until parked, calls 13, states handled`,
    'a replay that an engine reads again does not end a later wait': `broken, send 1, settle, replay, settle, calls 2, attempts 1, send other, settle, calls 2, 1 × 1 min, calls 3`,
    'several handlers of one event each have their own name and state': `
      erp fails, send 1, settle, states failing, handlers crm=handled erp=failing, until parked, states parked,
      handlers crm=handled erp=parked, replay failed 1, states received, handlers crm=handled erp=waiting, settle,
      called 1`,
    'a restart continues the attempts and repeats no handled notification':
      'broken 1, send 1 2, settle, restart, send 3, settle, called 1 2 3, 1 × 1 s, called 1 2 3 1, attempts 2',
  },
  story => play(story),
)

tellEach(
  {
    'notifications with one key wait for a failing one until it is parked; other keys do not': `
      broken a1, send a1 a2 b1 a3 b2, settle, handled b1 b2, 1 × 1 min, handled b1 b2, until parked,
      handled b1 b2 a2 a3`,
    'a replay ends the wait of a failing handler, also from another process, and keeps the order of a key': `
      broken, send a1 a2, settle, fixed, states failing received, elsewhere replay, settle, handled a1 a2,
      states handled handled`,
  },
  story => play(story, { key: ({ body }) => String(body).slice(0, 1) }),
)

test('the result of a schema is passed to the handler; a mismatch fails without quoting the body', async () => {
  const { averba, said } = await given()
  const schema = z.array(z.object({ numeroCarga: z.string().transform(Number) }).strict())
  const seen: number[] = []
  averba.notifications.handle(
    evento,
    'crm',
    async ({ body }) => void seen.push(...body.map(each => each.numeroCarga)),
    { schema },
  )
  await send(averba, [{ numeroCarga: '7' }, { numeroCarga: '8' }])
  await send(averba, [{ numeroCarga: 9, 'Maria de Exemplo': 1 }])
  await send(averba, { numeroCarga: 'Maria de Exemplo' })
  await averba.settle()
  expect(seen).toEqual([7, 8])
  const failing = await inboxOf(averba, { state: 'failing' })
  expect(failing.map(each => each.handlers[0]?.reason)).toEqual([
    'the body does not fit its schema: invalid_type, unrecognized_keys',
    'the body does not fit its schema: invalid_type',
  ])
  expect(said.map(line => line.detail)).toContain('the body does not fit its schema: invalid_type')
  expect(JSON.stringify([said, await Array.fromAsync(averba.log.read())])).not.toContain('Maria')
})

test('a notification whose body was destroyed is parked at once, which is no failure', async () => {
  const { averba, said } = await given()
  await send(averba, { n: 1 }, { 'destinatario-tipo': 'CPF', 'destinatario-id': samples.cpf })
  await sendAll(averba, 2)
  await averba.subjects.erase({ cpf: samples.cpf }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  const seen = handle(averba)
  await averba.settle()
  expect(seen).toEqual([2])
  const handled = [
    { state: 'parked', handlers: [{ reason: 'the body is no longer there' }] },
    { state: 'handled', handlers: [{ reason: '' }] },
  ]
  expect(await inboxOf(averba)).toMatchObject(handled)
  expect(await checkOf(averba, 'notifications')).toMatchObject({ ok: true, detail: '0 parked, 0 to be retried' })
  expect(said.filter(({ message }) => message.includes('handler failed'))).toEqual([])
  // Asking again does not grow the log.
  expect(await averba.notifications.replay({ failed: true })).toBe(0)
  const replayed = averba.notifications.replay({ id: await firstId(averba) })
  await expect(replayed).rejects.toMatchObject({ code: 'PART_DESTROYED' })
  await averba.settle()
  expect(await inboxOf(averba)).toMatchObject(handled)
})

test('a handler yields while it skips very many notifications', async () => {
  const { averba, openOne } = await given()
  const sent = 1_100
  await Promise.all(Array.from({ length: sent }, (_, n) => send(averba, { n })))
  averba.notifications.handle('outro', 'novo', idle)
  // A page of the log has a thousand events.
  expect((await countTurns(() => averba.settle())).turns).toBeGreaterThanOrEqual(2)
  handle(averba, n => n === 0 && fail())
  await averba.settle()
  await averba.close()
  const other = await openOne(2)
  // Each one after the failing one is read and found to be handled.
  handle(other)
  expect((await countTurns(() => other.settle())).turns).toBeGreaterThanOrEqual(sent / 50)
})
