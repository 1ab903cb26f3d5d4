import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AverbaError, type Recorded, type SubjectReport, valueOf } from '../../src/index.ts'
import { createReportedWorld, type ReportedWorld } from './reported-world.ts'

const golden = (name: string) => join(import.meta.dirname, 'golden', name)

async function reportOf({ world, subject }: ReportedWorld, who: { cpf: string } | undefined = undefined) {
  return JSON.parse(await world.averba.subjects.report(who ?? { subject })) as SubjectReport
}

async function eventsOf({ world }: ReportedWorld): Promise<Recorded[]> {
  const events: Recorded[] = []
  for await (const event of world.averba.log.read()) events.push(event)
  return events
}

test('the same log gives the same report, in Portuguese and in English', async () => {
  const { world, subject } = await createReportedWorld()
  const { subjects } = world.averba
  const portuguese = await subjects.report({ subject })
  expect(await subjects.report({ subject }, { language: 'pt-BR', format: 'json' })).toBe(portuguese)
  await expect(portuguese).toMatchFileSnapshot(golden('subject.pt-BR.json'))
  const english = await subjects.report({ subject }, { language: 'en' })
  await expect(english).toMatchFileSnapshot(golden('subject.en.json'))
  await world.close()
})

test('every event about the person is in the report, and none about anybody else', async () => {
  const reported = await createReportedWorld()
  const report = await reportOf(reported)
  const events = await eventsOf(reported)
  // By another way than the report's: what a machine knows of whose stream it is.
  const mine = new Set(
    events.flatMap(({ stream, data, parts = [] }) => {
      const isMine =
        (data as { subject?: string }).subject === reported.subject || // Only these have one.
        parts.some(({ owner }) => owner === `subject-${reported.subject}`)
      return isMine ? [stream] : []
    }),
  )
  const expected = events.filter(({ stream }) => mine.has(stream)).map(({ position }) => position)
  const own = report.timeline.filter(({ stream }) => !stream.startsWith('effect-'))
  expect(own.map(({ position }) => position)).toEqual(expected)
  const types = new Set(own.map(({ type }) => type.slice(0, type.indexOf('.'))))
  expect(types).toEqual(new Set(['subject', 'consent', 'validation', 'notification']))
  const attempts = report.timeline.filter(({ type }) => type === 'effect.attempted')
  expect(attempts).toHaveLength(2) // A status was changed, and a person validated.
  const others = events.filter(({ type }) => type === 'subject.enrolled').map(({ stream }) => stream)
  const other = others.find(stream => stream !== `subject-${reported.subject}`) ?? 'missing'
  expect(JSON.stringify(report)).not.toContain(other.slice('subject-'.length))
  await reported.world.close()
})

test('who acted for somebody else finds nothing of them in their own report', async () => {
  const { world, subject } = await createReportedWorld()
  const { consents, subjects } = world.averba
  const before = JSON.parse(await subjects.report({ subject })) as SubjectReport
  const actor = { kind: 'subject', ref: subject } as const
  valueOf(await consents.sync({ cpf: '52998224725' }, { actor }))
  const after = JSON.parse(await subjects.report({ subject })) as SubjectReport
  expect(after.log.position).toBeGreaterThan(before.log.position)
  expect({ ...after, log: before.log }).toEqual(before)
  await world.close()
})

test('what is held is counted by kind', async () => {
  const reported = await createReportedWorld()
  const { held } = await reportOf(reported)
  const pieces = (await eventsOf(reported)).flatMap(({ parts = [] }) =>
    parts.filter(({ owner }) => owner === `subject-${reported.subject}`),
  )
  const sum = (count: (kind: (typeof held)[number]) => number) =>
    held.map(count).reduce((total, each) => total + each, 0)
  expect(sum(kind => kind.pieces)).toBe(pieces.length)
  expect(sum(kind => kind.held)).toBe(pieces.length)
  expect(sum(kind => kind.bytes)).toBe(pieces.reduce((total, { bytes }) => total + bytes, 0))
  expect(held.map(({ kind }) => kind)).toContain('notification.received/body')
  await reported.world.close()
})

test('a CPF is masked, and no personal data is opened', async () => {
  const reported = await createReportedWorld()
  const { samples } = reported.world
  expect(await reportOf(reported)).toMatchObject({ cpf: null })
  const report = await reportOf(reported, { cpf: samples.cpf })
  expect(report).toMatchObject({ cpf: '***.744.350-**', subject: reported.subject })
  const text = JSON.stringify(report)
  const canaries = [samples.cpf, '257.744', 'Sousa', 'aplicativo', 'chave-secreta', reported.which.id]
  expect(canaries.filter(canary => text.includes(canary))).toEqual([])
  await reported.world.close()
})

test('who is not enrolled has no report, and an unknown form is refused', async () => {
  const { world, subject } = await createReportedWorld()
  const { subjects } = world.averba
  const codeOf = (work: Promise<unknown>) => work.catch((error: unknown) => (error as AverbaError).code)
  expect(await codeOf(subjects.report({ cpf: '11144477735' }))).toBe('NOT_FOUND')
  expect(await codeOf(subjects.report({ cpf: '11144477734' }))).toBe('INVALID_CPF')
  const wrong = { language: 'fr' } as never // A host that is not typed.
  await expect(subjects.report({ subject }, wrong)).rejects.toThrow(AverbaError)
  await world.close()
})
