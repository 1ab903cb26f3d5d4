import { environmentId, type ValidationResult } from '../../adapters/validation/protocol.ts'
import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import type { ValidationEvent } from '../../machines/validation.ts'
import { canonicalJson } from '../../proof/canonical-json.ts'
import type { DataOf } from '../../vocabulary/log-types.ts'
import type { Json } from '../../vocabulary/message.ts'
import { idOfStream, parsePartAddress, streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import type { OutcomeFact, PendingUntil } from '../effect-types.ts'
import type { Recorded } from '../events.ts'
import { type IndexRow, indexRow, type Opener } from '../module.ts'

/** An answer that can be reused, with the host's id of its validation. */
export type ReusableAnswer = Pick<DataOf<ValidationEvent, 'validation.reused'>, 'from' | 'claims' | 'result'>

const indexKind = 'validated'

/** Records an answer. A definitive one, with the person available and a field evaluated, is indexed to be reused. */
export async function routeAnswer(
  context: ApiContext,
  pending: PendingUntil<'validationService.answered'>,
  fact: OutcomeFact<'validationService.answered'>,
  since: number,
): Promise<DecisionRequest> {
  const targets = [{ stream: pending.stream, message: fact, since }]
  const { cpf = '', claims = '' } = pending.opens ?? {}
  const claimed = await context.store.open(claims)
  const [owner] = parsePartAddress(cpf)
  const subject = idOfStream(owner)
  const { environment } = fact.data
  const text = reusableKey(environment, subject, claimed, fact.parts?.result?.value)
  if (text === undefined) return { targets }
  const replaces = await context.store.lookUp(indexKind, text)
  const indexEntry = { kind: indexKind, digest: context.store.digest(indexKind, text), value: pending.stream }
  return { targets, indexEntries: [{ ...indexEntry, ...(replaces !== undefined && { replaces }) }] }
}

/** Finds the newest definitive answer to the same claims about the same person, if it is recent enough. */
export async function findReusable(
  context: ApiContext,
  wanted: { subject: string; claims: Json; withinMs: number },
): Promise<ReusableAnswer | undefined> {
  const { store, options } = context
  if (!options.validationService) return undefined
  const environment = environmentId(options.validationService)
  const stream = await store.lookUp(indexKind, validationKey(environment, wanted.subject, wanted.claims))
  if (stream === undefined) return undefined
  const events = await store.read({ stream })
  const requested = events.find(event => event.type === 'validation.requested')
  const answered = events.findLast(event => event.type === 'validation.answered')
  if (!requested || !answered) return undefined
  if (!context.isFresh(answered.at, wanted.withinMs)) return undefined
  const result = `${answered.id}/result`
  if ((await store.open(result)) === undefined) return undefined
  return { from: requested.data.id, claims: `${requested.id}/claims`, result }
}

/** The index row of an answer, if it can be reused. */
export async function indexValidated(
  { store, subjects }: ApiContext,
  { stream, data }: Recorded<'validation.answered'>,
  open: Opener,
): Promise<IndexRow[]> {
  const [requested] = await store.read({ stream, limit: 1 })
  if (requested?.type !== 'validation.requested') return []
  const { subject } = requested.data
  // An answer of an erased person may be kept, but is not found any more.
  if (await subjects.isErased(streamOf('subject', subject))) return []
  const [claims, result] = [await open('claims', requested.id), await open('result')]
  return indexRow(indexKind, reusableKey(data.environment ?? '', subject, claims, result), stream)
}

/** The key under which an answer is indexed; `undefined` when it cannot be reused. */
function reusableKey(
  environment: string,
  subject: string,
  claimed: Json | undefined,
  result: Json | undefined,
): string | undefined {
  const { fields = {}, cpfDisponivel } = (result ?? {}) as Partial<ValidationResult> // As the client sealed it.
  const isDefinitive = Object.values(fields).some(field => field.result !== 'not-evaluated')
  if (!isDefinitive || cpfDisponivel === false || claimed === undefined) return undefined
  return validationKey(environment, subject, claimed)
}

function validationKey(environment: string, subject: string, claims: Json): string {
  return [environment, subject, canonicalJson(claims, { fractions: true })].join('\0')
}
