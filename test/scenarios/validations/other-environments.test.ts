import { copyFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createValidationClient } from '../../../src/adapters/validation/client.ts'
import { hostToken } from '../../../src/api/validations/tokens.ts'
import { type AverbaOptions, backupStore, type LogLine, restoreStore, valueOf } from '../../../src/index.ts'
import { samples, VirtualClock } from '../../../src/simulation/index.ts'
import type { PendingEffect } from '../../../src/vocabulary/message.ts'
import { busy } from '../../support/answers.ts'
import { checkOf } from '../../support/check-of.ts'
import { openValidating, validate } from '../../support/open-validating.ts'
import { dayMs, hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { standStill } from '../../support/stand-still.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'

const input = { id: 'a', cpf: samples.cpf, claims: { nome: 'Maria de Exemplo Souza' } }
const production = { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid' }
const demonstration = { ...production, service: 'datavalid-demonstracao' }

type Place = Partial<NonNullable<AverbaOptions['validationService']>>

/** A production service that is busy at first, and a demonstration that always answers. */
function givenServices() {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const state: { isBusy: boolean; answer?: (() => Promise<Response>) | undefined } = { isBusy: true }
  const sent: string[] = []
  const lines: LogLine[] = []
  async function fetch({ url }: Request): Promise<Response> {
    sent.push(url)
    if (state.answer) return state.answer()
    return state.isBusy && url.includes('/datavalid/')
      ? busy(60)
      : Response.json({ nome: url.includes('demonstracao') })
  }
  const open = (place: Place = {}, path = store) =>
    openValidating({
      ...{ store: path, clock, fetch, logger: line => void lines.push(line) },
      validationService: { ...production, bearer: 't', ...place },
    })
  /** Leaves so many validations that production has to answer. */
  const leave = async (count: number) => {
    const first = await open()
    const asked = await Promise.all(Array.from({ length: count }, (_, i) => validate(first, `p${i}`)))
    for (const { status } of asked) expect(status).toBe('deferred')
    await first.close()
  }
  return { clock, store, state, sent, lines, open, leave }
}

const rehearsal = { ...production, baseUrl: 'https://ensaio.exemplo.br' }
test.each([demonstration, rehearsal])(
  'a validation is only sent to the service that it was requested from: not to $baseUrl/$service',
  async other => {
    const { clock, state, sent, lines, open, leave } = givenServices()
    await leave(1)
    const second = await open(other)
    await passTime({ averba: second, clock }, minuteMs, 3)
    const outcome = await validate(second, 'p0')
    expect(outcome).toMatchObject({ status: 'deferred', replayed: true })
    expect(sent).toHaveLength(1)
    const said = lines.filter(({ message }) => message.includes('belongs to another service'))
    expect(said).toMatchObject([{ detail: expect.stringMatching(/validation-\w+\/1\/0/) }])
    expect((await second.health({ only: ['effects'] })).ready).toBe(true)
    const detail = expect.stringContaining('1 due calls are of another')
    expect(await checkOf(second, 'effects')).toMatchObject({ ok: false, detail })
    await second.effects.park(outcome.effect)
    const parked = "1 parked, 0 with an unknown outcome: see effects.list({ state: 'parked' })"
    expect((await checkOf(second, 'effects'))?.detail).toBe(parked)
    await second.effects.retry(outcome.effect)
    expect((await checkOf(second, 'effects'))?.detail).toContain(outcome.effect)
    await second.close()
    state.isBusy = false
    const third = await open()
    expect(await checkOf(third, 'effects')).toMatchObject({ ok: true })
    await third.settle()
    expect(valueOf(await validate(third, 'p0')).fields).toEqual({ nome: { result: 'mismatch' } })
    expect(sent).toEqual(Array(2).fill('https://validacao.exemplo.br/datavalid/v2/validate/pf'))
  },
)

test('answers of the demonstration, reused and declined ones too, are not returned for production', async () => {
  const { state, sent, open } = givenServices()
  const demo = await open(demonstration)
  expect(valueOf(await demo.validations.validate(input))).toMatchObject({ state: 'answered' })
  const reusing = { ...input, id: 'reused', reuseWithinMs: minuteMs }
  expect(await demo.validations.validate(reusing)).toMatchObject({ status: 'settled' })
  expect(sent).toHaveLength(1)
  state.answer = async () => Response.json({}, { status: 404 })
  const declining = { ...input, id: 'declined', claims: { nome: 'Outro Nome' } }
  expect(await demo.validations.validate(declining)).toMatchObject({ status: 'declined' })
  await demo.close()
  Object.assign(state, { answer: undefined, isBusy: false })
  const live = await open()
  for (const each of [input, reusing, declining])
    await refuses('COMMAND_REUSED', live.validations.validate(each), { hint: expect.stringContaining('knownAs') })
  expect(sent).toHaveLength(2)
  await live.close()
  // With knownAs the same service at another address reuses its answers.
  const moved = await open({ ...demonstration, baseUrl: 'https://nova.exemplo.br', knownAs: production.baseUrl })
  expect(await moved.validations.validate(input)).toMatchObject({ status: 'settled', replayed: true })
})

test('calls left to another process do not count towards the rate limit', async () => {
  const { clock, state, open, leave } = givenServices()
  await leave(60)
  const second = await open({ ...demonstration, requestsPerSecond: 4 })
  await clock.advance(minuteMs)
  state.answer = async () => busy(60)
  await clock.finish(validate(second, 'own'))
  state.answer = undefined
  const stop = startRun({ averba: second, clock })
  await clock.advance(120_000)
  expect((await second.validations.get('own'))?.state).toBe('answered')
  const began = clock.now()
  valueOf(await clock.finish(validate(second, 'at once')))
  expect(clock.now()).toBe(began)
  await clock.finish(stop())
})

test('a sent validation without a result is unknown, whatever service the next process has', async () => {
  const { clock, state, sent, open } = givenServices()
  const left = Promise.withResolvers<void>()
  state.answer = () => {
    left.resolve()
    return new Promise(() => undefined)
  }
  const first = await open()
  // The process ends before the answer.
  const goOn = standStill()
  validate(first, 'a').catch(() => undefined)
  await left.promise
  goOn()
  Object.assign(state, { answer: undefined, isBusy: false })
  const other = await open({ baseUrl: 'https://novo.exemplo.br' })
  await clock.advance(dayMs)
  const told: object[] = []
  other.on('attempted', hint => void told.push(hint))
  expect(await other.settle()).toMatchObject({ unknown: 1 })
  const operation = 'validationService.validatePerson'
  // Its duration is unknown.
  expect(told).toEqual([{ operation, effectClass: 'once', attempt: 2, isTakenOver: true, outcome: 'unknown' }])
  expect(sent).toHaveLength(1)
  expect((await checkOf(other, 'effects'))?.detail).toContain('0 parked, 1 with an unknown outcome')
  const again = { of: 'a', reason: 'a person looked into it' }
  expect((await other.validations.validate({ ...input, id: 'b', again })).status).toBe('settled')
  await other.validations.resolve('a', { charged: true })
  expect(await other.validations.get('a')).toMatchObject({ state: 'resolved' })
})

test('a validation pending before a restore is unknown, whatever service the next process has', async () => {
  const { clock, store, sent, open } = givenServices()
  const first = await open()
  expect((await validate(first, 'a')).status).toBe('deferred')
  await backupStore({ store, to: `${store}.backup` })
  await validate(first, 'lost')
  await first.close()
  const restored = temporaryStore()
  copyFileSync(`${store}.keys`, `${restored}.keys`)
  await restoreStore({ backup: `${store}.backup`, store: restored, acceptRollback: true, clock })
  const other = await open({ baseUrl: 'https://novo.exemplo.br' }, restored)
  await clock.advance(dayMs)
  expect(await other.settle()).toMatchObject({ unknown: 1 })
  expect(await other.validations.get('a')).toMatchObject({ state: 'inconclusive' })
  expect(sent).toHaveLength(2)
})

test('with knownAs, deferred calls go to the new address and earlier answers are reused', async () => {
  const { clock, state, sent, open, leave } = givenServices()
  await leave(1)
  state.isBusy = false
  const moved = await open({ baseUrl: 'https://novo.exemplo.br', knownAs: `${production.baseUrl}/` })
  await clock.advance(minuteMs)
  expect(await moved.settle()).toMatchObject({ settled: 1 })
  expect(sent.at(-1)).toBe('https://novo.exemplo.br/datavalid/v2/validate/pf')
  await moved.close()
  const back = await open()
  const reused = await back.validations.validate({ ...input, reuseWithinMs: hourMs })
  expect(valueOf(reused).reusedFrom).toBe('p0')
  expect(sent).toHaveLength(2)
})

test('a validation without an environment goes to the configured service', () => {
  const { 'validationService.validatePerson': performer } = createValidationClient({
    ...production,
    fetch: () => Promise.reject(new TypeError('Nothing is sent')),
    clock: new VirtualClock(),
    tokens: hostToken('t'),
  })
  const pending: PendingEffect = {
    ...{ id: 'validation-v/1/0', position: 1, stream: 'validation-v', state: 'pending', attempts: 0 },
    ...{ type: 'validationService.validatePerson', data: {}, dueAt: '', reason: '' },
  }
  expect(performer?.takes?.({ ...pending, data: { validation: 'v' } })).toBe(true)
  expect(performer?.takes?.({ ...pending, data: { validation: 'v', environment: 'outro' } })).toBe(false)
})
