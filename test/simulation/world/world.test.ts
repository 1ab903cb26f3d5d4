import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type CrashPoint, samples, simulate, startServices, type World } from '../../../src/simulation/index.ts'
import { readConsent } from '../../support/given-consent.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, deliver, inboxOf } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const leaseMs = 60_000
const validation = { id: 'pedido', cpf: samples.cpf, claims: { sexo: 'F' } } as const

const typesOf = ({ averba }: World): Promise<string[]> => Array.fromAsync(averba.log.read(), event => event.type)

test.each([
  ['in memory', () => ':memory:'],
  ['in a file', temporaryStore],
])('a store %s has only what was committed before a crash', async (_, store) => {
  const world = await openWorld({ store: store() })
  await world.averba.consents.enrol({ cpf: samples.cpf })
  const dead = world.averba
  const onEnd = vi.fn()
  void dead.run({ signal: new AbortController().signal }).then(onEnd)
  void dead.validations.validate(validation).then(onEnd)
  world.crash()
  expect(world.isDown).toBe(true)
  void dead.consents.enrol({ cpf: '00000000191' }).then(onEnd)
  await world.clock.advance(hourMs)
  expect(world.clock.sleeping).toBe(0)
  expect(onEnd).not.toHaveBeenCalled()
  await world.restart()
  expect(world.isDown).toBe(false)
  expect(await typesOf(world)).toEqual(['log.began', 'subject.enrolled'])
})

test('averba.run wakes on an idle day for what is due, and not to look', async () => {
  const subscriptions = [{ evento: 'dimp-situacao-import', chaveSecreta: 'segredo' }]
  const world = await openWorld({ averba: { subscriptions } })
  await world.averba.consents.enrol({ cpf: samples.cpf })
  const stop = startRun(world)
  await world.clock.advance(dayMs)
  const end = world.clock.now() + dayMs
  // Each part of it looks every ten minutes, in case the clock was set. One that looked every second would need 86,400.
  await world.clock.runUntil(() => world.clock.now() >= end, { wakesMax: 2_500 })
  await stop()
})

describe('a process that crashes', () => {
  /** Requests a validation in a world whose engine crashes at one point, if any. */
  async function crashAt(fatal = 0) {
    const crashAt = vi.fn(({ number }: CrashPoint) => number === fatal)
    const world = await openWorld({ crashAt })
    const onAnswer = vi.fn()
    void world.averba.validations.validate(validation).then(onAnswer, onAnswer)
    await world.clock.quiet()
    return { world, seen: crashAt.mock.calls.flat(), isAnswered: onAnswer.mock.calls.length > 0 }
  }

  test('has numbered crash points, never answers at any of them, and pays only once after the restart', async () => {
    const whole = await crashAt()
    await whole.world.close()
    const { seen } = whole
    expect(whole.isAnswered).toBe(true)
    expect(seen.map(point => point.number)).toEqual(seen.map((_, i) => i + 1))
    const count = (kind: CrashPoint['at']) => seen.filter(({ at }) => at === kind).length
    // The token and the validation.
    expect([count('beforeRequest'), count('afterRequest')]).toEqual([2, 2])
    expect(count('beforeWrite')).toBeGreaterThan(6)
    expect(count('afterWrite')).toBe(count('beforeWrite'))
    const states = new Set<string>()
    for (let fatal = seen.findIndex(({ at }) => at === 'beforeRequest') - 6; fatal <= seen.length; fatal++) {
      const { world, isAnswered } = await crashAt(fatal)
      expect([fatal, isAnswered, world.isDown]).toEqual([fatal, false, true])
      await world.restart()
      await passTime(world, leaseMs + 1)
      const { status } = await world.averba.validations.validate(validation)
      states.add(status)
      // The request reached the service before the process crashed.
      const isPaid = world.requests.some(each => each.service === 'validationService')
      expect(world.validationService.answered, `point ${fatal}`).toBe(isPaid || status !== 'unknown' ? 1 : 0)
      expect((await world.averba.rebuild()).every(view => view.differences === 0)).toBe(true)
      expect(await world.averba.effects.list({ state: 'pending' })).toEqual([])
      await world.close()
    }
    expect(states).toEqual(new Set(['settled', 'unknown']))
  })

  test('during a notification breaks the connection and refuses later ones', async () => {
    let isFatal = false
    const world = await openWorld({
      averba: { subscriptions: [{ evento: 'e', endpoint: 'https://receptor.exemplo.br/averba' }] },
      crashAt: ({ at }) => isFatal && at === 'afterWrite',
    })
    await applyPlan(world.averba)
    isFatal = true
    for (const _ of ['fatal', 'later']) {
      expect(await deliver(world, {}, 'e')).toMatchObject([{ isDelivered: false }])
      expect(world.isDown).toBe(true)
    }
    isFatal = false
    await world.restart()
    // The first one was durable before the process crashed.
    expect(await inboxOf(world.averba)).toMatchObject([{ evento: 'e' }])
    expect(await deliver(world, {}, 'e')).toMatchObject([{ isDelivered: true }])
  })
})

test.each([':memory:', temporaryStore()])('a crash while the world opens throws an error with a hint', async store => {
  const message = 'Cannot open the engine: its process crashed meanwhile'
  const crashed = { code: 'CLOSED', message, hint: expect.stringContaining('Return false from crashAt until simulate') }
  for (const fatal of [1, 4])
    await expect(simulate({ store, crashAt: ({ number }) => number === fatal })).rejects.toMatchObject(crashed)
  let isArmed = false
  const world = await openWorld({ crashAt: () => isArmed })
  world.crash()
  isArmed = true
  await expect(world.restart()).rejects.toMatchObject({ code: 'CLOSED' })
  expect(world.isDown).toBe(true)
  isArmed = false
  await world.restart()
  expect(await typesOf(world)).toEqual(['log.began'])
})

test('a process that crashes while it closes is down', async () => {
  let isFatal = false
  const world = await openWorld({ crashAt: () => isFatal })
  isFatal = true
  await world.close()
  expect(world.isDown).toBe(true)
})

test('a world works with the faked timers of a test runner', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  expect((await readConsent(await openWorld())).consent.status).toBe('ATIVO')
})

test('a closed world cannot be restarted', async () => {
  const world = await openWorld()
  await world.close()
  const closed = { code: 'CLOSED', hint: expect.stringContaining('The world was closed') }
  await expect(world.restart()).rejects.toMatchObject(closed)
  await expect(world.fillDisk(true)).rejects.toMatchObject(closed)
  await expect(world.digest()).rejects.toMatchObject(closed)
})

test('invalid CPFs and recipients are rejected', async () => {
  const { consentService, validationService, portal } = await openWorld()
  const { addConsent, addAwareness } = consentService
  const addPerson = ({ cpf }: { cpf: string }) => validationService.addPerson(cpf, {})
  for (const cpf of ['12345678900', ''])
    for (const add of [addConsent, addAwareness, addPerson])
      expect(() => add({ cpf })).toThrow(expect.objectContaining({ code: 'INVALID_CPF' }))
  const notice = { evento: 'x', destinatarioTipo: 'CNPJ', destinatarioId: 'zzz', body: {} } as const
  await expect(portal.notify(notice)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  // With punctuation.
  const id = addConsent({ cpf: '257.744.350-16' })
  expect(consentService.statusOf(samples.cpf, id)).toBe('PENDENTE')
})

test('an expired consent has the time of its expiry, whenever it is read', async () => {
  const { consentService, averba, clock } = await openWorld()
  const { cpf } = samples
  const end = clock.now() + hourMs
  const id = consentService.addConsent({ cpf, status: 'ATIVO', expiresInMs: hourMs })
  await clock.advance(2 * dayMs)
  expect(consentService.statusOf(cpf, id)).toBe('EXPIRADO')
  const subject = await averba.consents.enrol({ cpf })
  await clock.finish(averba.consents.sync({ subject }))
  const consent = await clock.finish(averba.consents.get({ subject, id }))
  expect(Date.parse(consent?.historico.at(-1)?.dataHora ?? '')).toBe(end)
})

const wrongSeed = 'Cannot use the seed: it must be a whole number, 0 or more'
test.each<[open: (options: object) => Promise<unknown>, options: object, code: string, message?: string]>([
  [simulate, { sed: 3 }, 'MISCONFIGURED', 'Unknown option "sed"'],
  [simulate, { schedules: true }, 'MISCONFIGURED', 'Unknown option "schedules"'],
  [simulate, { seed: 'x' }, 'MISCONFIGURED', wrongSeed],
  [simulate, { seed: 1.5 }, 'MISCONFIGURED', wrongSeed],
  [simulate, { seed: -1 }, 'MISCONFIGURED', wrongSeed],
  [simulate, { seed: null }, 'MISCONFIGURED', wrongSeed],
  // Faults that can never apply.
  [simulate, { faults: [{ kind: 'refuse', method: 'get' }] }, 'INVALID_INPUT'],
  [simulate, { faults: [{ kind: 'refuse', method: 'FETCH' }] }, 'INVALID_INPUT'],
  [simulate, { faults: [{ kind: 'refuse', path: '?cnpj=' }] }, 'INVALID_INPUT'],
  [simulate, { faults: [{ kind: 'refuse', path: 'https://a.exemplo.br' }] }, 'INVALID_INPUT'],
  [startServices, { fault: [{ kind: 'refuse' }] }, 'MISCONFIGURED'],
  [simulate, { policies: { portal: { silence: 'always' } } }, 'INVALID_INPUT'],
  [startServices, { policies: { portal: { silence: 'always' } } }, 'INVALID_INPUT'],
])('%o rejects %j', async (open, options, code, message) => {
  await expect(open(options)).rejects.toMatchObject({ code, ...(message !== undefined && { message }) })
})
