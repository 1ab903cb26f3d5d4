import { expect, test } from 'vitest'
import { type ProcessingReport, type SubjectReport, valueOf } from '../../../src/index.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { readReport } from '../../support/reported-world.ts'
import { openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

/** A person whose data was revealed once, and whose result was kept for one day. */
async function createWorld() {
  const retention = { 'validation.result': { days: 1 }, 'validation.claims': 'until-settled' } as const
  const world = await openWorld({ averba: { retention, schedules: true } })
  const { averba, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  valueOf(await averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'Fulana Canário' } }))
  const [row] = await averba.views.selectFrom('consents').selectAll().execute()
  const actor = { kind: 'person', ref: 'atendente-7' } as const
  await averba.subjects.reveal(row ?? {}, { actor, purpose: 'atendimento ao titular' })
  const other = await averba.consents.enrol({ cpf: '52998224725' })
  valueOf(await averba.validations.validate({ id: 'p2', cpf: '52998224725', claims: { nome: 'Outra' } }))
  await passTime(world, dayMs, 3)
  const report = (language: 'en' | 'pt-BR', who = subject) => readReport(averba, { subject: who }, { language })
  return { ...world, subject, other, report }
}

const wordsOf = ({ timeline }: SubjectReport, type: string) =>
  timeline.filter(entry => entry.type === type).map(({ words }) => words)

test('reports describe reveals and destruction by retention, and its rules', async () => {
  const { averba, clock, report, other } = await createWorld()
  const [portuguese, english] = [await report('pt-BR'), await report('en')]
  const revealed = [wordsOf(portuguese, 'reveal.recorded'), wordsOf(english, 'reveal.recorded')]
  expect(revealed).toEqual([
    ['Dados lacrados abertos para esta organização: atendimento ao titular'],
    ['Sealed data opened for this organisation: atendimento ao titular'],
  ])
  expect(wordsOf(portuguese, 'retention.applied').sort()).toEqual([
    'Prazo de conservação encerrado, dados eliminados: dados declarados para a validação',
    'Prazo de conservação encerrado, dados eliminados: resultado da validação',
  ])
  expect(wordsOf(english, 'retention.applied').sort()).toEqual([
    'Retention time over, data destroyed: data declared for a validation',
    'Retention time over, data destroyed: result of a validation',
  ])
  // No data of the other person was revealed.
  expect(wordsOf(await report('en', other), 'reveal.recorded')).toEqual([])
  const actor = { kind: 'person', ref: 'atendente-7' }
  expect(english.timeline.find(({ type }) => type === 'reveal.recorded')?.actor).toEqual(actor)
  const period = { from: '2000-01-01T00:00:00.000Z', until: new Date(clock.now()).toISOString() }
  const of = async (language: 'en' | 'pt-BR') =>
    (JSON.parse(await averba.audit.processingReport(period, { language })) as ProcessingReport).retention
  expect(await of('en')).toContain(
    'Destroyed after: result of a validation: 1 day; data declared for a validation: until it is settled.',
  )
  expect(await of('pt-BR')).toContain(
    'Prazos de eliminação: resultado da validação: 1 dia; dados declarados para a validação: até a conclusão.',
  )
})

test('the report of an erased person shows the receipt and no personal data', async () => {
  const { averba, samples, subject, report } = await createWorld()
  expect((await report('en')).erasure).toBeNull()
  const receipt = await averba.subjects.erase({ subject }, asked)
  const erased = await report('en')
  expect(erased.erasure).toEqual({
    ...asked,
    erasedAt: receipt.erasedAt,
    keeps: [],
    parts: receipt.destroyed.parts.length,
    cancelledCalls: receipt.destroyed.calls.length,
    isKeyKept: false,
    completedAt: receipt.completed?.at,
    copiesOpenUntil: receipt.completed?.copiesOpenUntil,
    epochsDestroyedAt: null,
  })
  expect(erased.held.reduce((sum, { held }) => sum + held, 0)).toBe(0)
  expect(erased.timeline.map(({ type }) => type)).toContain('subject.erased')
  const page = await averba.subjects.report({ subject }, { format: 'html' })
  expect(page).toContain('Os dados pessoais deste titular foram eliminados')
  const english = await averba.subjects.report({ subject }, { format: 'html', language: 'en' })
  expect(english).toContain('The personal data of this person was erased')
  const text = page + english + JSON.stringify(erased)
  expect([samples.cpf, '257.744', 'Canário'].filter(canary => text.includes(canary))).toEqual([])
  // The CPF does not show whether this person ever existed. The error says so, and how to ask.
  const byCpf = await averba.subjects.report({ cpf: samples.cpf }).catch(error => error)
  expect([byCpf.code, byCpf.hint]).toEqual(['NOT_FOUND', expect.stringMatching(/for an erased person use their ref/)])
  expect(String(byCpf)).not.toContain(samples.cpf)
  const stranger = await averba.subjects.report({ cpf: '11144477735' }).catch(error => error)
  expect([stranger.message, stranger.hint]).toEqual([byCpf.message, byCpf.hint])
  const refused = await averba.consents.sync({ subject }).catch(error => error)
  expect([refused.code, refused.hint]).toEqual(['SUBJECT_ERASED', expect.stringContaining('subjects.receipt')])
})

test('the report describes an erasure that kept parts', async () => {
  const { averba, samples, subject, other, report } = await createWorld()
  await averba.validations.validate({ id: 'kept', cpf: samples.cpf, claims: { nome: 'X' } })
  await averba.subjects.erase({ subject }, { ...asked, keep: ['validation.claims'] })
  const words = async (...of: Parameters<typeof report>) => wordsOf(await report(...of), 'subject.erased')
  expect(await words('en')).toEqual(["The person's data was erased, except what the law requires to keep"])
  expect(await words('pt-BR')).toEqual(['Dados do titular eliminados, exceto os que a lei manda conservar'])
  // This person has no parts of the kind to keep.
  await averba.subjects.erase({ subject: other }, { ...asked, keep: ['consent.detail'] })
  expect(await words('en', other)).toEqual(["The person's data was erased"])
  expect(await words('pt-BR', other)).toEqual(['Dados do titular eliminados'])
})
