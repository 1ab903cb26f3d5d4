import { environmentId } from '../../adapters/validation/environment.ts'
import type { ValidationResult } from '../../adapters/validation/protocol.ts'
import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { canonicalJson } from '../../proof/canonical-json.ts'
import type { Json, MessageWithParts, PartAddress, PendingEffect } from '../../vocabulary/message.ts'
import { idOfStream, parsePartAddress, streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { type IndexedEvent, type IndexRow, type Opener, rowIf } from '../keyed-index.ts'

/** An answer that can be taken again, with the host's id of the validation that got it. */
export interface ReusableAnswer {
  readonly from: string
  readonly claims: PartAddress
  readonly result: PartAddress
}

const kind = 'validated'

/**
 * Records an answer, and, when it is a definitive one, where it is found when the same is claimed of the same person
 * again. An answer about a person who is not available, or in which nothing was evaluated, cannot be reused.
 */
export async function routeAnswer(
  context: ApiContext,
  pending: PendingEffect,
  fact: MessageWithParts,
  since: number,
): Promise<DecisionRequest> {
  const targets = [{ stream: pending.stream, message: fact, since }]
  const { cpf = '', claims = '' } = pending.opens ?? {}
  const claimed = await context.store.open(claims)
  const [owner] = parsePartAddress(cpf)
  const subject = idOfStream(owner)
  const { environment } = fact.data as { environment: string } // As the client writes it.
  const text = validatedText(environment, subject, claimed, fact.parts?.result?.value)
  if (text === undefined) return { targets }
  const replaces = await context.store.lookUp(kind, text)
  const claim = { kind, digest: context.store.digest(kind, text), value: pending.stream }
  return { targets, claims: [{ ...claim, ...(replaces !== undefined && { replaces }) }] }
}

/** The newest definitive answer to the same claims about the same person, unless it is older than the host allows. */
export async function findReusable(
  context: ApiContext,
  asked: { subject: string; claims: Json; withinMs: number },
): Promise<ReusableAnswer | undefined> {
  const { store, options } = context
  if (!options.validationService) return undefined
  const environment = environmentId(options.validationService)
  const stream = await store.lookUp(kind, textOf(environment, asked.subject, asked.claims))
  if (stream === undefined) return undefined
  const events = await store.read({ stream })
  const requested = events.find(event => event.type === 'validation.requested')
  const answered = events.findLast(event => event.type === 'validation.answered')
  if (!requested || !answered) return undefined
  if (!context.isFresh(answered.at, asked.withinMs)) return undefined
  const result = `${answered.id}/result`
  if (!(await isThere(context, result))) return undefined
  const { id } = requested.data as { id: string } // As the machine writes it.
  return { from: id, claims: `${requested.id}/claims`, result }
}

/** A result that was destroyed cannot be given again. */
async function isThere({ store }: ApiContext, result: PartAddress): Promise<boolean> {
  return (await store.open(result)) !== undefined
}

/** What an answer adds to the index, where it may be given again. */
export async function indexValidated(
  { store, subjects }: ApiContext,
  { stream, data }: IndexedEvent,
  open: Opener,
): Promise<IndexRow[]> {
  const [requested] = await store.read({ stream, limit: 1 })
  if (requested?.type !== 'validation.requested') return []
  const { subject } = requested.data as { subject: string } // As the machine writes it.
  // What was kept of an erased person is there, and found by nothing any more.
  if (await subjects.isErased(streamOf('subject', subject))) return []
  const [claims, result] = [await open('claims', requested.id), await open('result')]
  return rowIf(kind, validatedText(data.environment ?? '', subject, claims, result), stream)
}

/** What an answer is found by when the same is claimed again; `undefined` where it says nothing to give again. */
function validatedText(
  environment: string,
  subject: string,
  claimed: Json | undefined,
  result: Json | undefined,
): string | undefined {
  const { fields = {}, cpfDisponivel } = (result ?? {}) as Partial<ValidationResult> // As the client sealed it.
  const isDefinitive = Object.values(fields).some(field => field.result !== 'not-evaluated')
  if (!isDefinitive || cpfDisponivel === false || claimed === undefined) return undefined
  return textOf(environment, subject, claimed)
}

/** What makes two validations the same: where the answer came from, the person, and the very same claims. */
function textOf(environment: string, subject: string, claims: Json): string {
  return [environment, subject, canonicalJson(claims, { fractions: true })].join('\0')
}
