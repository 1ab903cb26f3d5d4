import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Averba, Clock, HandlerError, LogLine, Notification } from '../../../src/index.ts'
import { samples, seededEntropy, VirtualClock } from '../../../src/simulation/index.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { inboxOf } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const actor = { kind: 'person', ref: 'operadora-7' } as const

/** Engines on one store with one clock, and their log lines. */
async function given(count = 1) {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const said: LogLine[] = []
  const openOne = (seed: number, by: Clock = clock) =>
    openEngine({
      store,
      clock: by,
      entropy: seededEntropy(seed),
      receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' },
      logger: line => void said.push(line),
    })
  const engines: Averba[] = []
  for (let seed = 1; seed <= count; seed++) engines.push(await openOne(seed))
  const [averba, other = averba] = engines
  if (!averba || !other) throw new Error('There is no engine')
  return { averba, other, clock, said, openOne }
}

async function notify(averba: Averba, body: unknown, of = evento): Promise<void> {
  const headers = { 'event-type': of, 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const { status } = await averba.receiver.fetch(new Request('https://receptor.exemplo.br/averba', init))
  expect(status).toBe(200)
}

/** Advances until a handler that always fails is parked. */
async function untilParked(averba: Averba, clock: VirtualClock): Promise<void> {
  for (let i = 0; i < 14; i++) {
    await averba.settle()
    await clock.advance(15 * minuteMs)
  }
}

const numberOf = (notification: Notification) => (notification.body as { n: number }).n

test('a handler is called in order, once per notification of its event, not for copies', async () => {
  const { averba } = await given()
  await notify(averba, { n: 1 })
  const seen: unknown[] = []
  averba.notifications.handle(evento, 'crm', async ({ id, body, state, recipient, at }) => {
    const known = (await inboxOf(averba)).find(each => each.id === id)
    seen.push({ body, state, recipient, at, isStored: known !== undefined })
  })
  await averba.settle()
  await notify(averba, { n: 1 })
  await notify(averba, { n: 2 }, 'talp-inclusao-exig')
  await notify(averba, { n: 3 })
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
  const world = await openWorld({
    averba: { receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' } },
  })
  const { averba } = world
  for (let n = 0; n < 40; n++) await notify(averba, { n })
  const seen: number[] = []
  averba.notifications.handle(evento, 'crm', async notification => {
    seen.push(numberOf(notification))
    if (seen.length === 36) world.crash()
  })
  let commits = 0
  averba.on('committed', () => {
    commits += 1
  })
  void averba.settle()
  await world.clock.runUntil(() => world.isDown)
  expect(commits).toBeLessThan(24)
  const next = await world.restart()
  next.notifications.handle(evento, 'crm', async notification => void seen.push(numberOf(notification)))
  await world.clock.advance(minuteMs + 1)
  await world.clock.finish(next.settle())
  const repeated = seen.length - new Set(seen).size
  expect(new Set(seen)).toEqual(new Set(Array.from({ length: 40 }, (_, n) => n)))
  expect(repeated).toBeGreaterThan(0)
  expect(repeated).toBeLessThanOrEqual(17)
  const handled = await Array.fromAsync(next.log.read({ types: ['notification.handled'] }), ({ stream }) => stream)
  expect(handled.length).toBe(40)
  expect(new Set(handled).size).toBe(40)
})

test('a failed notification is retried with growing waits, then parked, without delaying others', async () => {
  const { averba, clock, said } = await given()
  const tried: number[] = []
  const started = clock.now()
  const seen: number[] = []
  averba.notifications.handle(evento, 'crm', async notification => {
    if (numberOf(notification) !== 2) return void seen.push(numberOf(notification))
    tried.push((clock.now() - started) / 1_000)
    throw new RangeError('12ABC34501DE35')
  })
  for (const n of [1, 2, 3]) await notify(averba, { n })
  await averba.settle()
  expect(seen).toEqual([1, 3])
  expect(await inboxOf(averba, { state: 'failing' })).toMatchObject([
    { handlers: [{ handler: 'crm', state: 'failing', attempts: 1, reason: 'RangeError' }] },
  ])
  await passTime({ averba, clock }, 1_000, 40 * 60)
  expect(tried).toEqual([0, 1, 3, 7, 15, 31, 63, 127, 255, 511, 1_023, 1_923])
  const [parked] = await inboxOf(averba, { state: 'parked' })
  expect(parked).toMatchObject({ body: { n: 2 }, handlers: [{ state: 'parked', attempts: 12 }] })
  const named = { evento, handler: 'crm', notification: parked?.id, error: 'RangeError' }
  expect(said.filter(line => line.handler === 'crm')).toMatchObject([
    ...[1, 2, 4, 8].map(attempt => ({ message: 'a handler failed for a notification', ...named, attempt })),
    { message: 'a notification is parked', ...named, attempt: 12 },
  ])
  await notify(averba, { n: 4 })
  await averba.settle()
  expect(seen).toEqual([1, 3, 4])
})

test('the host gets the error of a handler, and the log does not', async () => {
  const { averba, said } = await given()
  const failed: HandlerError[] = []
  averba.on('handlerFailed', each => void failed.push(each))
  const error = new RangeError('12ABC34501DE35')
  averba.notifications.handle(evento, 'crm', async () => Promise.reject(error))
  averba.notifications.handle(evento, 'strict', async () => undefined, { schema: z.object({ n: z.string() }) })
  averba.notifications.handle(evento, 'keyed', async () => undefined, {
    key: () => {
      throw error
    },
  })
  averba.log.follow('copy', ['notification.received'], async () => Promise.reject(error))
  await notify(averba, { n: 1 })
  await averba.settle()
  const [{ id: notification } = { id: '' }] = await inboxOf(averba)
  const [{ position } = { position: 0 }] = await Array.fromAsync(averba.log.read({ types: ['notification.received'] }))
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

test.each(['the same process', 'the next one'])(
  'a wait set while the clock was ahead ends when the clock is corrected, for %s',
  async which => {
    const { averba, clock, openOne } = await given()
    await notify(averba, { n: 1 })
    let calls = 0
    const handle = async () => {
      calls += 1
      if (calls === 1) throw new TypeError('not now')
    }
    averba.notifications.handle(evento, 'crm', handle)
    clock.jump(6 * 3_600_000)
    await averba.settle()
    clock.jump(-6 * 3_600_000)
    if (which === 'the same process') await averba.settle()
    await averba.close()
    if (which === 'the next one') {
      const next = await openOne(2)
      next.notifications.handle(evento, 'crm', handle)
      await next.settle()
      await next.close()
    }
    expect(calls).toBe(2)
  },
)

test('parked notifications are replayed in order after the handler is fixed', async () => {
  const { averba, clock } = await given()
  let isBroken = true
  const seen: number[] = []
  averba.notifications.handle(evento, 'crm', async notification => {
    if (isBroken) throw new Error('no')
    seen.push(numberOf(notification))
  })
  for (const n of [1, 2, 3]) await notify(averba, { n })
  await untilParked(averba, clock)
  expect(await inboxOf(averba, { state: 'parked' })).toHaveLength(3)
  isBroken = false
  await averba.settle()
  expect(seen).toEqual([])
  await notify(averba, { n: 4 })
  expect(await averba.notifications.replay({ failed: true }, { actor })).toBe(3)
  expect(await averba.notifications.replay({ failed: true })).toBe(0)
  await averba.settle()
  expect(seen).toEqual([4, 1, 2, 3])
  expect((await inboxOf(averba)).map(each => each.state)).toEqual(Array.from({ length: 4 }, () => 'handled'))
  for await (const event of averba.log.read({ types: ['notification.replayed'] })) {
    expect(event.actor).toEqual(actor)
  }
})

test('a notification is replayed by id, also a handled one, but not one without handler calls', async () => {
  const { averba } = await given()
  const seen: number[] = []
  averba.notifications.handle(evento, 'crm', async notification => void seen.push(numberOf(notification)))
  await notify(averba, { n: 1 })
  await notify(averba, { n: 2 }, 'outro')
  await averba.settle()
  const [first, second] = await inboxOf(averba)
  expect(await averba.notifications.replay({ id: first?.id ?? '' })).toBe(1)
  await averba.settle()
  expect(seen).toEqual([1, 1])
  const refused = { code: 'REFUSED' }
  await expect(averba.notifications.replay({ id: first?.id ?? '', failed: true })).rejects.toMatchObject(refused)
  await expect(averba.notifications.replay({ id: second?.id ?? '' })).rejects.toMatchObject(refused)
  await expect(averba.notifications.replay({ id: 'nenhuma' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a replay ends the wait of a failing handler, also from another process, and keeps the order of a key', async () => {
  const { averba, other } = await given(2)
  const seen: number[] = []
  let isBroken = true
  const handle = async (notification: Notification) => {
    if (isBroken) throw new Error('the ERP is down')
    seen.push(numberOf(notification))
  }
  averba.notifications.handle(evento, 'crm', handle, { key: () => 'one' })
  await notify(averba, { n: 1 })
  await notify(averba, { n: 2 })
  await averba.settle()
  isBroken = false
  const [first, second] = await inboxOf(averba)
  expect([first?.state, second?.state]).toEqual(['failing', 'received'])
  expect(await other.notifications.replay({ id: first?.id ?? '' })).toBe(1)
  await averba.settle()
  expect(seen).toEqual([1, 2])
  expect((await inboxOf(averba)).map(each => each.state)).toEqual(['handled', 'handled'])
})

test('a notification that a person has dealt with is skipped, and called again only by a replay', async () => {
  const { averba, clock } = await given()
  let calls = 0
  averba.notifications.handle(evento, 'crm', async () => {
    calls += 1
    if (calls <= 13) throw new Error('poison')
  })
  await notify(averba, { n: 1 })
  const [{ id } = { id: '' }] = await inboxOf(averba)
  const skip = () => averba.notifications.skip(id, { actor })
  await expect(skip()).rejects.toMatchObject({ code: 'REFUSED' })
  await untilParked(averba, clock)
  await skip()
  await expect(skip()).rejects.toMatchObject({ code: 'REFUSED' })
  expect(await inboxOf(averba)).toMatchObject([{ state: 'handled', handlers: [{ handler: 'crm', state: 'skipped' }] }])
  expect((await averba.health()).checks).toContainEqual(expect.objectContaining({ name: 'notifications', ok: true }))
  const skipped = await Array.fromAsync(averba.log.read({ types: ['notification.skipped'] }))
  expect(skipped).toMatchObject([{ actor, data: { handlers: ['crm'] } }])
  expect(await averba.notifications.replay({ failed: true })).toBe(0)
  await untilParked(averba, clock)
  expect(calls).toBe(12)
  // A replay for another handler that failed is none for this one.
  averba.notifications.handle(evento, 'erp', async () => Promise.reject(new Error('down')))
  await averba.settle()
  expect(await averba.notifications.replay({ failed: true })).toBe(1)
  await averba.settle()
  expect(calls).toBe(12)
  await averba.notifications.skip(id)
  await averba.notifications.replay({ id })
  await averba.settle()
  // Also while it is still tried again.
  await averba.notifications.skip(id)
  await untilParked(averba, clock)
  expect(calls).toBe(13)
  expect(await inboxOf(averba)).toMatchObject([{ state: 'handled' }])
  await expect(averba.notifications.skip('nenhuma')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a replay during the last call is not lost when that call fails', async () => {
  const { averba, clock } = await given()
  let calls = 0
  averba.notifications.handle(evento, 'crm', async () => {
    calls += 1
    // The operator replays before the twelfth call, which would park it, has failed.
    if (calls === 12) expect(await averba.notifications.replay({ failed: true })).toBe(1)
    if (calls <= 12) throw new RangeError('no')
  })
  await notify(averba, { n: 1 })
  await untilParked(averba, clock)
  expect(calls).toBe(13)
  expect(await inboxOf(averba)).toMatchObject([{ state: 'handled' }])
})

test('a replay that an engine reads again does not end a later wait', async () => {
  const { averba, clock } = await given()
  let calls = 0
  averba.notifications.handle(evento, 'crm', async () => {
    calls += 1
    throw new Error('the ERP is down')
  })
  await notify(averba, { n: 1 })
  await averba.settle()
  const [one] = await inboxOf(averba)
  await averba.notifications.replay({ id: one?.id ?? '' })
  await averba.settle()
  expect(calls).toBe(2)
  expect((await inboxOf(averba))[0]?.handlers).toMatchObject([{ state: 'failing', attempts: 1 }])
  await notify(averba, { n: 2 }, 'outro')
  await averba.settle()
  expect(calls).toBe(2)
  await clock.advance(minuteMs)
  await averba.settle()
  expect(calls).toBe(3)
})

test('a handler of an undeclared event is logged', async () => {
  const said: LogLine[] = []
  const averba = await openEngine({
    store: ':memory:',
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    subscriptions: [{ evento }],
    logger: line => void said.push(line),
  })
  averba.notifications.handle(evento, 'crm', async () => undefined)
  expect(said).toEqual([])
  averba.notifications.handle('dimp-situacao-imprt', 'crm', async () => undefined)
  const message = 'a handler is for an event that no subscription declares'
  expect(said).toMatchObject([{ message, evento: 'dimp-situacao-imprt', handler: 'crm' }])
  const neither = averba.notifications.replay({} as { failed: true }) // As from JavaScript.
  await expect(neither).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test('a handler without a function, or with a slash in its name, is refused and its name stays free', async () => {
  const { averba } = await given()
  const handle = async () => undefined
  const nothing = undefined as never // As from JavaScript.
  const refused = (hint: string) =>
    expect.objectContaining({ code: 'INVALID_INPUT', hint: expect.stringContaining(hint) })
  expect(() => averba.notifications.handle(evento, 'crm', nothing)).toThrow(refused('handle('))
  averba.notifications.handle(evento, 'crm', handle)
  // Two handlers could share a follower.
  expect(() => averba.notifications.handle('due', 'lpco/crm', handle)).toThrow(refused('slash'))
  averba.notifications.handle('due/lpco', 'crm', handle)
  averba.notifications.handle('due', 'crm', handle)
})

test('notifications with one key wait for a failing one until it is parked; other keys do not', async () => {
  const { averba, clock } = await given()
  const seen: string[] = []
  const key = ({ body }: Notification) => (body as { due: string }).due
  averba.notifications.handle(
    evento,
    'crm',
    async ({ body }) => {
      const { due, n } = body as { due: string; n: number }
      if (due === 'a' && n === 1) throw new Error('no')
      seen.push(`${due}${n}`)
    },
    { key },
  )
  for (const [due, n] of [
    ['a', 1],
    ['a', 2],
    ['b', 1],
    ['a', 3],
    ['b', 2],
  ]) {
    await notify(averba, { due, n })
  }
  await averba.settle()
  expect(seen).toEqual(['b1', 'b2'])
  await passTime({ averba, clock }, minuteMs)
  expect(seen).toEqual(['b1', 'b2'])
  await untilParked(averba, clock)
  expect(seen).toEqual(['b1', 'b2', 'a2', 'a3'])
})

test('several handlers of one event each have their own name and state', async () => {
  const { averba, clock } = await given()
  const seen: string[] = []
  averba.notifications.handle(evento, 'crm', async () => void seen.push('crm'))
  averba.notifications.handle(evento, 'erp', async () => {
    throw new TypeError('no')
  })
  expect(() => averba.notifications.handle(evento, 'crm', async () => undefined)).toThrow('has this name')
  averba.notifications.handle('outro', 'crm', async () => undefined)
  await notify(averba, { n: 1 })
  await averba.settle()
  const states = async () =>
    (await inboxOf(averba)).map(({ state, handlers }) => [
      state,
      Object.fromEntries(handlers.map(each => [each.handler, each.state])),
    ])
  expect(await states()).toEqual([['failing', { crm: 'handled', erp: 'failing' }]])
  await untilParked(averba, clock)
  expect(await states()).toEqual([['parked', { crm: 'handled', erp: 'parked' }]])
  await averba.notifications.replay({ failed: true })
  expect(await states()).toEqual([['received', { crm: 'handled', erp: 'waiting' }]])
  await averba.settle()
  expect(seen).toEqual(['crm'])
})

test('a notification is not handled before all its handlers are', async () => {
  const { averba } = await given()
  const states: unknown[] = []
  const look = async () => void states.push((await inboxOf(averba)).map(each => each.state))
  averba.notifications.handle(evento, 'crm', look)
  averba.notifications.handle(evento, 'erp', async () => {
    await expect.poll(async () => (await inboxOf(averba))[0]?.handlers.length).toBe(2)
    await look()
  })
  await notify(averba, { n: 1 })
  await averba.settle()
  expect(states).toEqual([['received'], ['received']])
  expect((await inboxOf(averba)).map(each => each.state)).toEqual(['handled'])
})

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
  await notify(averba, [{ numeroCarga: '7' }, { numeroCarga: '8' }])
  await notify(averba, [{ numeroCarga: 9, 'Maria de Exemplo': 1 }])
  await notify(averba, { numeroCarga: 'Maria de Exemplo' })
  await averba.settle()
  expect(seen).toEqual([7, 8])
  const failing = await inboxOf(averba, { state: 'failing' })
  expect(failing.map(each => each.handlers[0]?.reason)).toEqual([
    'the body does not fit its schema: invalid_type, unrecognized_keys',
    'the body does not fit its schema: invalid_type',
  ])
  const events = await Array.fromAsync(averba.log.read())
  expect(JSON.stringify(events)).not.toContain('Maria')
  expect(said.map(line => line.detail)).toContain('the body does not fit its schema: invalid_type')
  expect(JSON.stringify(said)).not.toContain('Maria')
})

test('anything with parse is a schema, and its error is not quoted', async () => {
  const { averba } = await given()
  const parse = (body: unknown): string => {
    throw Object.assign(new Error(String(body)), { issues: [{ code: 'Maria' }, null] })
  }
  averba.notifications.handle(evento, 'crm', async () => undefined, { schema: { parse } })
  await notify(averba, 'x')
  await averba.settle()
  const [only] = await inboxOf(averba)
  expect(only?.handlers[0]?.reason).toBe('the body does not fit its schema')
})

test('a restart continues the attempts and repeats no handled notification', async () => {
  const { averba, clock, openOne } = await given()
  const seen: string[] = []
  const handle = (by: string, engine: Averba) =>
    engine.notifications.handle(evento, 'crm', async notification => {
      seen.push(`${by}${numberOf(notification)}`)
      if (numberOf(notification) === 1) throw new Error('no')
    })
  handle('a', averba)
  for (const n of [1, 2]) await notify(averba, { n })
  await averba.settle()
  await averba.close()
  const again = await openOne(2)
  handle('b', again)
  await notify(again, { n: 3 })
  await again.settle()
  expect(seen).toEqual(['a1', 'a2', 'b3'])
  await passTime({ averba: again, clock }, 1_000)
  expect(seen).toEqual(['a1', 'a2', 'b3', 'b1'])
  expect((await inboxOf(again, { state: 'failing' }))[0]?.handlers[0]?.attempts).toBe(2)
})

test('a handler whose process stopped before recording is called again and recorded once', async () => {
  const { averba, clock, openOne } = await given()
  // Its clock never moves, so the stopped process does not renew its lease.
  const frozen = await openOne(3, new VirtualClock())
  const reached = Promise.withResolvers<void>()
  const wake = Promise.withResolvers<void>()
  frozen.notifications.handle(evento, 'crm', async () => {
    reached.resolve()
    await wake.promise
  })
  const seen: number[] = []
  averba.notifications.handle(evento, 'crm', async each => void seen.push(numberOf(each)))
  for (const n of [1, 2]) await notify(frozen, { n })
  const settling = frozen.settle()
  await reached.promise
  await averba.settle()
  expect(seen).toEqual([])
  await passTime({ averba, clock }, 61_000)
  expect(seen).toEqual([1, 2])
  wake.resolve()
  await settling
  const types = await Array.fromAsync(averba.log.read({ kind: 'notification' }), event => event.type)
  expect(types.filter(type => type === 'notification.handled')).toHaveLength(2)
  expect((await inboxOf(averba)).map(each => each.state)).toEqual(['handled', 'handled'])
})

test('a process that wakes up does not call a handler that another process took over', async () => {
  const { averba, clock, openOne } = await given()
  const frozen = await openOne(3, new VirtualClock())
  const [reached, taken] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const [wake, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const seen: string[] = []
  frozen.notifications.handle(evento, 'crm', async each => {
    seen.push(`late ${numberOf(each)}`)
    reached.resolve()
    await wake.promise
  })
  averba.notifications.handle(evento, 'crm', async each => {
    seen.push(`new ${numberOf(each)}`)
    taken.resolve()
    await go.promise
  })
  for (const n of [1, 2, 3]) await notify(frozen, { n })
  const settling = frozen.settle()
  await reached.promise
  await clock.advance(61_000)
  const working = averba.settle()
  await taken.promise
  wake.resolve()
  await settling
  expect(seen).toEqual(['late 1', 'new 1'])
  go.resolve()
  await working
  expect(seen).toEqual(['late 1', 'new 1', 'new 2', 'new 3'])
})

test('a notification whose body was destroyed is parked at once, which is no failure', async () => {
  const { averba, said } = await given()
  const person = { 'event-type': evento, 'destinatario-tipo': 'CPF', 'destinatario-id': samples.cpf }
  const init = { method: 'POST', body: '{"n":1}', headers: person }
  expect((await averba.receiver.fetch(new Request('https://receptor.exemplo.br/averba', init))).status).toBe(200)
  await notify(averba, { n: 2 })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.subjects.erase({ subject }, { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' })
  const seen: number[] = []
  averba.notifications.handle(evento, 'crm', async each => void seen.push(numberOf(each)))
  await averba.settle()
  expect(seen).toEqual([2])
  const handled = [
    { state: 'parked', handlers: [{ reason: 'the body is no longer there' }] },
    { state: 'handled', handlers: [{ reason: '' }] },
  ]
  expect(await inboxOf(averba)).toMatchObject(handled)
  expect((await averba.health({ only: ['notifications'] })).checks).toMatchObject([
    { ok: true, detail: '0 parked, 0 to be retried' },
  ])
  expect(said.filter(({ message }) => message.includes('handler failed'))).toEqual([])
  // Asking again does not grow the log.
  const [first] = await inboxOf(averba)
  expect(await averba.notifications.replay({ failed: true })).toBe(0)
  const replayed = averba.notifications.replay({ id: first?.id ?? '' })
  await expect(replayed).rejects.toMatchObject({ code: 'PART_DESTROYED' })
  await averba.settle()
  expect(await inboxOf(averba)).toMatchObject(handled)
})

test('a handler yields while it skips very many notifications', async () => {
  const { averba, other } = await given(2)
  for (let n = 0; n < 3_000; n += 500)
    await Promise.all(Array.from({ length: 500 }, (_, i) => notify(averba, { n: n + i })))
  const turnsOf = async (work: () => Promise<unknown>) => {
    let [turns, isOver] = [0, false]
    const count = () => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    await work()
    isOver = true
    return turns
  }
  averba.notifications.handle('outro', 'novo', async () => undefined)
  // A page of the log has a thousand events.
  expect(await turnsOf(() => averba.settle())).toBeGreaterThanOrEqual(3)
  averba.notifications.handle(evento, 'crm', async each => {
    if (numberOf(each) === 0) throw new Error('no')
  })
  await averba.settle()
  await averba.close()
  // Each one after the failing one is read and found to be handled.
  other.notifications.handle(evento, 'crm', async () => undefined)
  expect(await turnsOf(() => other.settle())).toBeGreaterThanOrEqual(3_000 / 50)
})
