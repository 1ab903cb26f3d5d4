import { afterAll, expect, test } from 'vitest'
import { limitOperations } from '../../../src/api/reports/processing.ts'
import { AverbaError, type ProcessingOperation } from '../../../src/index.ts'
import { VirtualClock, type World } from '../../../src/simulation/index.ts'
import { openValidating, openWaiting } from '../../support/open-validating.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { basis, createReportedWorld, golden } from '../../support/reported-world.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const period = { from: '2026-11-20T00:00:00.000Z', until: '2026-11-21T00:00:00.000Z' }

const gather = (from: AsyncIterable<ProcessingOperation>): Promise<ProcessingOperation[]> => Array.fromAsync(from)
const operationsOf = ({ averba }: World, of = period) => gather(averba.audit.processing(of))

const { world: reported } = await createReportedWorld()
afterAll(() => reported.close())

test('the same log gives the same records of processing, as JSON and as a page', async () => {
  const { audit } = reported.averba
  const json = await audit.processingReport(period)
  expect(await audit.processingReport(period)).toBe(json)
  expect(JSON.parse(json).operations).toEqual(await operationsOf(reported))
  await expect(json).toMatchFileSnapshot(golden('processing.pt-BR.json'))
  const page = await audit.processingReport(period, { format: 'html', language: 'en' })
  await expect(page).toMatchFileSnapshot(golden('processing.en.html'))
})

test('what is disclosed is shared with a third party, and what is revealed within the organisation is not', async () => {
  const world = await openWorld({ averba: { recordKeys: ['validation'] } })
  const { averba, clock, samples } = world
  await averba.validations.validate({ id: 'order-7', cpf: samples.cpf, claims: { nome: 'MARIA' } })
  const [asked] = await Array.fromAsync(averba.log.read({ types: ['validation.requested'] }))
  const actor = { kind: 'person', ref: 'agent-7' } as const
  await averba.audit.disclose(asked?.id ?? '', { actor, purpose: 'given to an auditor' })
  const row = await averba.views.selectFrom('subjects').selectAll().executeTakeFirstOrThrow()
  await averba.subjects.reveal(row, { actor, purpose: 'call back' })
  await clock.advance(1_000)
  const shared = (await operationsOf(world)).filter(({ type }) => type === 'reveal.recorded')
  expect(shared).toMatchObject([
    { kinds: ['shared'], recipients: ['Terceiro'], data: ['Dados enviados para validação'], actor },
  ])
  expect(shared[0]?.owners).toEqual([expect.stringMatching(/^subject-/)])
})

test('a report with too many operations is refused, and the hint says where to end the period', async () => {
  const operations = await operationsOf(reported)
  const read = (most: number) => gather(limitOperations(most, reported.averba.audit.processing(period)))
  expect(await read(operations.length)).toEqual(operations)
  await expect(read(operations.length - 1)).rejects.toMatchObject({
    code: 'INVALID_INPUT',
    message: expect.stringContaining(`more than ${operations.length - 1} operations`),
    hint: expect.stringContaining(`End the period at ${operations.at(-1)?.at}`),
  })
})

test('a period includes its beginning and excludes its end', async () => {
  const all = await operationsOf(reported)
  const middle = '2026-11-20T12:10:00.000Z'
  const before = await operationsOf(reported, { from: period.from, until: middle })
  const after = await operationsOf(reported, { from: middle, until: period.until })
  expect([...before, ...after]).toEqual(all)
  expect(after[0]?.at).toBe(middle)
  expect(before.at(-1)?.at).toBe('2026-11-20T12:00:00.000Z')
  expect(await operationsOf(reported, { from: period.until, until: '2026-11-22T00:00:00.000Z' })).toEqual([])
  await expect(operationsOf(reported, { from: period.until, until: period.from })).rejects.toThrow(AverbaError)
  await expect(operationsOf(reported, { from: 'today', until: period.until })).rejects.toThrow(AverbaError)
})

const isCall = ({ recipients }: ProcessingOperation) => recipients.includes('Serviço de validação')

function validated({ averba, samples }: World) {
  return averba.validations.validate({ id: 'v', cpf: samples.cpf, claims: { nome: 'M' } }, { basis })
}

const until = '2026-12-31T00:00:00.000Z'

async function callsOf(world: World, from = period.from): Promise<ProcessingOperation[]> {
  return (await operationsOf(world, { from, until })).filter(isCall)
}

test('data of a failed call is shared only when and if the call is answered later', async () => {
  const world = await openWorld()
  await world.faults.add({ kind: 'refuse', service: 'tokenService' })
  await validated(world)
  expect(await callsOf(world)).toEqual([])
  await world.faults.clear()
  await passTime(world, dayMs)
  const calls = await callsOf(world)
  expect(calls).toMatchObject([{ type: 'validation.answered', kinds: ['collected', 'shared'], basis }])
  const [{ at: answeredAt } = { at: '' }] = calls
  expect(answeredAt > '2026-11-20T12:00:00.000Z').toBe(true)
  // A period that begins after the request gives the same.
  expect(await callsOf(world, answeredAt)).toEqual(calls)
})

test('data of a call lost in one period and answered in the next is shared only in the first', async () => {
  const store = temporaryStore()
  const world = await openWaiting({ averba: { store } })
  const validating = validated(world)
  await world.left
  // Another process finds that the lease has expired, and the call is in doubt.
  const clock = new VirtualClock()
  const other = await openValidating({ store, clock, fetch: world.reach.validationService })
  await passTime({ averba: other, clock }, 61_000)
  world.clock.jump(dayMs)
  world.answer()
  await validating
  const day = period.until
  const types = async (from: string, until: string) =>
    (await operationsOf(world, { from, until })).filter(isCall).map(({ type }) => type)
  expect(await types(period.from, until)).toEqual(['validation.inconclusive'])
  expect(await types(period.from, day)).toEqual(['validation.inconclusive'])
  expect(await types(day, until)).toEqual([])
})

const erasure = { requester: 'p-1', legalBasis: 'LGPD 18 VI' }

test.each([
  ['whose answer was lost: at once', { kind: 'lose', service: 'validationService' }, 'validation.inconclusive'],
  ['that is not processed: then', { kind: 'status', service: 'validationService', status: 429 }, 'subject.erased'],
  ['that was not sent: never', { kind: 'refuse', service: 'tokenService' }, undefined],
] as const)('data counts as shared once when an erasure ends a call %s', async (_, fault, type) => {
  const world = await openWorld()
  await world.faults.add(fault)
  await validated(world)
  const shared = type === undefined ? [] : [{ type, kinds: ['shared'] }]
  expect(await callsOf(world)).toMatchObject(type === 'subject.erased' ? [] : shared)
  await world.clock.advance(dayMs)
  await world.averba.subjects.erase({ cpf: world.samples.cpf }, erasure)
  expect(await callsOf(world)).toMatchObject(shared)
  expect(await callsOf(world, period.until)).toMatchObject(type === 'subject.erased' ? shared : [])
})

test('data of a call under way counts as shared when an erasure ends it', async () => {
  const world = await openWaiting()
  const validating = validated(world)
  await world.left
  await world.averba.subjects.erase({ cpf: world.samples.cpf }, erasure)
  world.answer()
  await validating
  expect(await callsOf(world)).toMatchObject([{ type: 'subject.erased', kinds: ['shared'] }])
})
