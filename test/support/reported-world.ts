import { join } from 'node:path'
import { type Averba, AverbaError, type SubjectRef, type SubjectReport, valueOf } from '../../src/index.ts'
import type { World } from '../../src/simulation/index.ts'
import { toInstant } from '../../src/vocabulary/instant.ts'
import { minuteMs } from './pass-time.ts'
import { applyPlan } from './portal.ts'
import { openWorld } from './world.ts'

/** The basis of the uses and validations in this world. */
export const basis = { purpose: 'análise de crédito', legalBasis: 'LGPD art. 7º, I' }
const evento = 'dimp-situacao-import'

/** A world with many events about one person, and a few about another. */
export interface ReportedWorld {
  readonly world: World
  readonly subject: SubjectRef
  /** The consent that was used and later revoked at the service. */
  readonly which: { readonly subject: SubjectRef; readonly id: string }
  /** An instant after the revocation at the service, before a reading showed it. */
  readonly unawareAt: string
}

/** Creates the world, each time with the same events, byte for byte. */
export async function createReportedWorld(store?: string): Promise<ReportedWorld> {
  const world = await openWorld({
    ...(store !== undefined && { store }),
    averba: { actor: { kind: 'system', ref: 'loja' }, subscriptions: [{ evento, chaveSecreta: 'chave-secreta-um' }] },
  })
  const { averba, clock, consentService, portal, samples } = world
  const { consents, validations } = averba
  const other = await consents.enrol({ cpf: '52998224725' })
  consentService.addConsent({ cpf: '52998224725', cnpj: samples.cnpj })
  valueOf(await consents.sync({ subject: other }))
  const subject = await consents.enrol({ cpf: samples.cpf })
  valueOf(await consents.sync({ subject }))
  const [active] = await consents.list({ subject, status: 'ATIVO' })
  const [pending] = await consents.list({ subject, status: 'PENDENTE' })
  const which = { subject, id: active?.id ?? '' }
  await consents.get(which)
  const person = { kind: 'person', ref: 'atendente-7' } as const
  const evidence = { reason: 'pediu no aplicativo', evidence: { tela: 'v3' }, actor: person }
  valueOf(await consents.approve({ subject, id: pending?.id ?? '' }, evidence))
  await clock.advance(10 * minuteMs)
  await consents.use(which, { basis, actor: person })
  const claims = { nome: 'Maria de Exemplo Sousa' }
  valueOf(await validations.validate({ id: 'pedido-1', cpf: samples.cpf, claims }, { basis }))
  await applyPlan(averba)
  for (const destinatarioId of [samples.cpf, '52998224725'])
    await portal.notify({ evento, destinatarioTipo: 'CPF', destinatarioId, body: { numero: '1' } })
  await clock.advance(10 * minuteMs)
  consentService.change(samples.cpf, which.id, 'REVOGADO')
  await clock.advance(10 * minuteMs)
  const unawareAt = toInstant(clock.now())
  await clock.advance(10 * minuteMs)
  await consents.use({ ...which, ageMaxMs: minuteMs }, { basis }).catch(error => {
    if (!(error instanceof AverbaError) || error.code !== 'CONSENT_NOT_EFFECTIVE') throw error
  })
  return { world, subject, which, unawareAt }
}

export async function readReport(
  { subjects }: Pick<Averba, 'subjects'>,
  who: Parameters<Averba['subjects']['report']>[0],
  options?: Parameters<Averba['subjects']['report']>[1],
): Promise<SubjectReport> {
  return JSON.parse(await subjects.report(who, options))
}

/** A file with what a report gives each time. */
export const golden = (name: string) => join(import.meta.dirname, '../api/reports/golden', name)
