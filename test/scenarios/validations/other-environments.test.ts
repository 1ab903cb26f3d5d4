import { copyFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { createValidationClient } from '../../../src/adapters/validation/client.ts'
import { hostToken } from '../../../src/api/validations/tokens.ts'
import { type AverbaOptions, backupStore, type LogLine, restoreStore, valueOf } from '../../../src/index.ts'
import { samples, VirtualClock } from '../../../src/simulation/index.ts'
import { Store } from '../../../src/store/store.ts'
import type { PendingEffect } from '../../../src/vocabulary/message.ts'
import { passTime } from '../../support/pass-time.ts'
import { standStill } from '../../support/stand-still.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

const { cpf } = samples
const input = { id: 'a', cpf, claims: { nome: 'Maria de Exemplo Souza' } }
const production = { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid' }

type Place = Pick<
  NonNullable<AverbaOptions['validationService']>,
  'baseUrl' | 'knownAs' | 'service' | 'requestsPerSecond'
>

/** A production service that is busy at first, and a demonstration that always answers. */
function givenServices() {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const state: { isBusy: boolean; answer?: (() => Promise<Response>) | undefined } = { isBusy: true }
  const sent: string[] = []
  const lines: LogLine[] = []
  async function fetch({ url }: Request): Promise<Response> {
    sent.push(url)
    if (state.answer) return state.answer()
    const isBusy = state.isBusy && url.includes('/datavalid/')
    const busy = { status: 429, headers: { 'retry-after': '60' } }
    return isBusy ? Response.json({}, busy) : Response.json({ nome: url.includes('demonstracao') })
  }
  const open = (validationService: Place, path = store) =>
    openEngine({
      ...{ store: path, clock, fetch, schedules: false },
      logger: line => void lines.push(line),
      validationService: { ...validationService, bearer: 't' },
    })
  return { clock, store, state, sent, lines, open }
}

test.each([
  { ...production, service: 'datavalid-demonstracao' },
  { ...production, baseUrl: 'https://ensaio.exemplo.br' },
])(
  'a validation is only sent to the service that it was requested from ($baseUrl/$service is another)',
  async other => {
    const { clock, state, sent, lines, open } = givenServices()
    const first = await open(production)
    expect((await first.validations.validate(input)).status).toBe('deferred')
    await first.close()
    const second = await open(other)
    await passTime({ averba: second, clock }, 60_000, 3)
    expect(await second.validations.validate(input)).toMatchObject({ status: 'deferred', replayed: true })
    expect(sent).toHaveLength(1)
    const said = lines.filter(({ message }) => message.includes('belongs to another service'))
    expect(said).toMatchObject([{ detail: expect.stringMatching(/validation-\w+\/1\/0/) }])
    const [pending] = await second.effects.list({ state: 'deferred' })
    const effects = { only: ['effects'] } as const
    expect(await second.health(effects)).toMatchObject({
      ready: true,
      checks: [{ ok: false, detail: expect.stringContaining('1 due calls belong to another') }],
    })
    await second.effects.park(pending?.id ?? '')
    expect((await second.health(effects)).checks[0]?.detail).toBe(
      "1 parked, 0 with an unknown outcome: see effects.list({ state: 'parked' })",
    )
    await second.effects.retry(pending?.id ?? '')
    expect((await second.health(effects)).checks[0]?.detail).toContain(pending?.id)
    await second.close()
    state.isBusy = false
    const third = await open(production)
    expect(await third.health(effects)).toMatchObject({ checks: [{ ok: true }] })
    await third.settle()
    expect(valueOf(await third.validations.validate(input)).fields).toEqual({ nome: { result: 'mismatch' } })
    expect(sent).toEqual(Array(2).fill('https://validacao.exemplo.br/datavalid/v2/validate/pf'))
  },
)

test('an answer of the demonstration is not reused for production', async () => {
  const { state, sent, open } = givenServices()
  state.isBusy = false
  const demonstration = await open({ ...production, service: 'demonstracao' })
  expect(valueOf(await demonstration.validations.validate(input))).toMatchObject({ state: 'answered' })
  await demonstration.close()
  const live = await open(production)
  await expect(live.validations.validate(input)).rejects.toMatchObject({
    code: 'COMMAND_REUSED',
    hint: expect.stringContaining('knownAs'),
  })
  expect(sent).toHaveLength(1)
  await live.close()
  // With knownAs the same service at another address reuses its answers.
  const place = { ...production, service: 'demonstracao' }
  const moved = await open({ ...place, baseUrl: 'https://nova.exemplo.br', knownAs: production.baseUrl })
  expect(await moved.validations.validate(input)).toMatchObject({ status: 'settled', replayed: true })
})

test('reused and declined answers of the demonstration are not returned for production', async () => {
  const { state, sent, open } = givenServices()
  const demonstration = await open({ ...production, service: 'demonstracao' })
  valueOf(await demonstration.validations.validate(input))
  const reusing = { ...input, id: 'reused', reuseWithinMs: 60_000 }
  expect(await demonstration.validations.validate(reusing)).toMatchObject({ status: 'settled' })
  expect(sent).toHaveLength(1)
  state.answer = async () => Response.json({}, { status: 404 })
  const declining = { ...input, id: 'declined', claims: { nome: 'Outro Nome' } }
  expect(await demonstration.validations.validate(declining)).toMatchObject({ status: 'declined' })
  await demonstration.close()
  Object.assign(state, { answer: undefined, isBusy: false })
  const live = await open(production)
  for (const each of [reusing, declining])
    await expect(live.validations.validate(each)).rejects.toMatchObject({ code: 'COMMAND_REUSED' })
  expect(sent).toHaveLength(2)
})

test('very many calls left to another process cost few readings and do not delay later calls', async () => {
  const { clock, state, sent, open } = givenServices()
  const first = await open(production)
  await Promise.all(Array.from({ length: 300 }, (_, i) => first.validations.validate({ ...input, id: `p${i}` })))
  await first.close()
  const demonstration = { ...production, service: 'datavalid-demonstracao' }
  const second = await open(demonstration)
  state.answer = async () => Response.json({}, { status: 429, headers: { 'retry-after': '60' } })
  expect(await second.validations.validate({ ...input, id: 'own' })).toMatchObject({ status: 'deferred' })
  state.answer = undefined
  await clock.advance(600_000)
  sent.length = 0
  const looks = vi.spyOn(Store.prototype, 'dueEffects')
  await second.settle()
  expect(looks.mock.calls.length).toBeLessThan(20)
  looks.mockRestore()
  expect(sent).toHaveLength(1)
  expect((await second.validations.get('own'))?.state).toBe('answered')
})

test('calls left to another process do not count towards the rate limit', async () => {
  const { clock, state, open } = givenServices()
  const first = await open(production)
  await Promise.all(Array.from({ length: 60 }, (_, i) => first.validations.validate({ ...input, id: `p${i}` })))
  await first.close()
  const second = await open({ ...production, service: 'datavalid-demonstracao', requestsPerSecond: 4 })
  await clock.advance(60_000)
  state.answer = async () => Response.json({}, { status: 429, headers: { 'retry-after': '60' } })
  await clock.finish(second.validations.validate({ ...input, id: 'own' }))
  state.answer = undefined
  const stop = startRun({ averba: second, clock })
  await clock.advance(120_000)
  expect((await second.validations.get('own'))?.state).toBe('answered')
  const began = clock.now()
  valueOf(await clock.finish(second.validations.validate({ ...input, id: 'at once' })))
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
  const first = await open(production)
  // The process ends before the answer.
  const goOn = standStill()
  first.validations.validate(input).catch(() => undefined)
  await left.promise
  goOn()
  Object.assign(state, { answer: undefined, isBusy: false })
  const other = await open({ ...production, baseUrl: 'https://novo.exemplo.br' })
  await clock.advance(86_400_000)
  const told: object[] = []
  other.on('attempted', hint => void told.push(hint))
  expect(await other.settle()).toMatchObject({ unknown: 1 })
  const operation = 'validationService.validatePerson'
  // Its duration is unknown.
  expect(told).toEqual([{ operation, effectClass: 'once', attempt: 2, isTakenOver: true, outcome: 'unknown' }])
  expect(sent).toHaveLength(1)
  expect(await other.health({ only: ['effects'] })).toMatchObject({
    checks: [{ detail: expect.stringContaining('0 parked, 1 with an unknown outcome') }],
  })
  const again = { of: 'a', reason: 'a person looked into it' }
  expect((await other.validations.validate({ ...input, id: 'b', again })).status).toBe('settled')
  await other.validations.resolve('a', { charged: true })
  expect(await other.validations.get('a')).toMatchObject({ state: 'resolved' })
})

test('a validation pending before a restore is unknown, whatever service the next process has', async () => {
  const { clock, store, sent, open } = givenServices()
  const first = await open(production)
  expect((await first.validations.validate(input)).status).toBe('deferred')
  await backupStore({ store, to: `${store}.backup` })
  await first.validations.validate({ ...input, id: 'lost' })
  await first.close()
  const restored = temporaryStore()
  copyFileSync(`${store}.keys`, `${restored}.keys`)
  await restoreStore({ backup: `${store}.backup`, store: restored, acceptRollback: true, clock })
  const other = await open({ ...production, baseUrl: 'https://novo.exemplo.br' }, restored)
  await clock.advance(86_400_000)
  expect(await other.settle()).toMatchObject({ unknown: 1 })
  expect(await other.validations.get('a')).toMatchObject({ state: 'inconclusive' })
  expect(sent).toHaveLength(2)
})

test('with knownAs, deferred calls go to the new address and earlier answers are reused', async () => {
  const { clock, state, sent, open } = givenServices()
  const first = await open(production)
  await first.validations.validate(input)
  await first.close()
  state.isBusy = false
  const moved = await open({
    ...production,
    baseUrl: 'https://novo.exemplo.br',
    knownAs: `${production.baseUrl}/`,
  })
  await clock.advance(60_000)
  expect(await moved.settle()).toMatchObject({ settled: 1 })
  expect(sent.at(-1)).toBe('https://novo.exemplo.br/datavalid/v2/validate/pf')
  await moved.close()
  const back = await open(production)
  const reused = await back.validations.validate({ ...input, id: 'b', reuseWithinMs: 3_600_000 })
  expect(valueOf(reused).reusedFrom).toBe('a')
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
