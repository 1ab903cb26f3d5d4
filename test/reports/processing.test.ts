import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AverbaError, type ProcessingOperation, type ProcessingReport } from '../../src/index.ts'
import { basis, createReportedWorld, type ReportedWorld } from './reported-world.ts'

const golden = (name: string) => join(import.meta.dirname, 'golden', name)
const period = { from: '2026-11-20T00:00:00.000Z', until: '2026-11-21T00:00:00.000Z' }

async function operationsOf({ world }: ReportedWorld, of = period): Promise<ProcessingOperation[]> {
  const operations: ProcessingOperation[] = []
  for await (const operation of world.averba.audit.processing(of)) operations.push(operation)
  return operations
}

test('the same log gives the same records of processing, as JSON and as a page', async () => {
  const { world } = await createReportedWorld()
  const { audit } = world.averba
  const json = await audit.processingReport(period)
  expect(await audit.processingReport(period)).toBe(json)
  await expect(json).toMatchFileSnapshot(golden('processing.pt-BR.json'))
  const page = await audit.processingReport(period, { format: 'html', language: 'en' })
  await expect(page).toMatchFileSnapshot(golden('processing.en.html'))
  await world.close()
})

test('an operation says for what, on what basis, which data, of whom, and for whom it left', async () => {
  const reported = await createReportedWorld()
  const operations = await operationsOf(reported)
  const { operations: same } = JSON.parse(
    await reported.world.averba.audit.processingReport(period),
  ) as ProcessingReport
  expect(same).toEqual(operations)
  expect(operations.find(({ type }) => type === 'validation.requested')).toMatchObject({
    kinds: ['collected', 'shared'],
    basis,
    owners: [`subject-${reported.subject}`],
    subjects: ['titulares de dados'],
    data: ['Dados enviados para validação', 'CPF'],
    recipients: ['Serviço de validação'],
  })
  expect(operations.find(({ type }) => type === 'consent.used')).toMatchObject({ kinds: ['used'], basis })
  expect(operations.find(({ type }) => type === 'consent.useRefused')).toMatchObject({ kinds: ['refused'] })
  expect(operations.find(({ type }) => type === 'notification.received')).toMatchObject({
    kinds: ['collected'],
    sources: ['portal de comércio exterior'],
  })
  await reported.world.close()
})

test('every event that brings personal data or lets it leave is an operation', async () => {
  const reported = await createReportedWorld()
  const expected: number[] = []
  for await (const { position, type, parts, effects = [] } of reported.world.averba.log.read()) {
    const leaves = effects.some(({ opens }) => opens !== undefined && Object.keys(opens).length > 0)
    if (parts || leaves || /\.use(d|Refused)$/.test(type)) expected.push(position)
  }
  expect((await operationsOf(reported)).map(({ position }) => position)).toEqual(expected)
  await reported.world.close()
})

test('a period takes its beginning and leaves its end', async () => {
  const reported = await createReportedWorld()
  const all = await operationsOf(reported)
  const middle = '2026-11-20T12:10:00.000Z'
  const before = await operationsOf(reported, { from: period.from, until: middle })
  const after = await operationsOf(reported, { from: middle, until: period.until })
  expect([...before, ...after]).toEqual(all)
  expect(after[0]?.at).toBe(middle)
  expect(before.at(-1)?.at).toBe('2026-11-20T12:00:00.000Z')
  expect(
    await operationsOf(reported, { from: '2026-11-21T00:00:00.000Z', until: '2026-11-22T00:00:00.000Z' }),
  ).toEqual([])
  await expect(operationsOf(reported, { from: period.until, until: period.from })).rejects.toThrow(
    AverbaError,
  )
  await expect(operationsOf(reported, { from: 'today', until: period.until })).rejects.toThrow(AverbaError)
  await reported.world.close()
})
