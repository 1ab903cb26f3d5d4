import type { ValidationEffects } from '../../adapters/validation/client.ts'
import { type EndWithheldCall, guardEffect } from '../../engine/performing/guarded-performer.ts'
import { canonicalJson } from '../../proof/canonical-json.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import { type Basis, withdrawnProblem } from '../../vocabulary/message.ts'
import { idOfStream, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import { effectOwner, type PerformersOf } from '../../vocabulary/performer.ts'
import type { Cpf } from '../../vocabulary/tax-numbers.ts'
import { type ApiContext, recordKey } from '../api-context.ts'
import { checkBasis } from '../arguments.ts'
import { readConsentEvents } from '../consents/consent-events.ts'
import type { FreshnessOptions } from '../consents/readings.ts'
import type { Standings } from '../consents/standings.ts'
import { evaluateAt } from '../consents/timeline.ts'
import type { EffectTypes, PendingOf, WithheldValidation } from '../effect-types.ts'
import type { RecordSelector, SubjectRef } from '../subject-directory.ts'

interface NamedUse {
  readonly id: string
  readonly which: RecordSelector & FreshnessOptions
  readonly basis: Basis
}

/** The data subject of the consent that a validation names, and our id of the consent. */
export interface NamedConsentIds {
  readonly subject: SubjectRef
  readonly consent: string
}

/**
 * Uses the consent that a validation names, which must be of the validated person. Returns `undefined` when the same
 * validation was requested before with the same consent. Throws `COMMAND_REUSED` when it was requested before with
 * another consent or none.
 */
export async function useNamedConsent(
  context: ApiContext,
  standings: Pick<Standings, 'use' | 'standing'>,
  { cpf, ...named }: NamedUse & { readonly cpf: Cpf },
  commandOptions: Omit<CommandOptions, 'basis' | 'commandId'>,
): Promise<NamedConsentIds | undefined> {
  const { id, which } = named
  if (await context.store.receipt(id)) {
    await checkSameConsent(context, id, which)
    return undefined
  }
  const { subject } = await context.subjects.prepareSubject(cpf, 'validation')
  if ((await context.subjects.find(which, 'id')) !== subject)
    throw new AverbaError('INVALID_INPUT', 'Cannot use the consent: it belongs to another person')
  return { subject, consent: await useOnce(context, standings, { ...named, subject }, commandOptions) }
}

/**
 * Checks that a validation was not requested before with another consent or none. A reused answer is not checked: it
 * was not sent and needs no consent. Throws `COMMAND_REUSED`.
 */
export async function checkSameConsent(
  { store, subjects }: ApiContext,
  id: string,
  selector: RecordSelector,
): Promise<void> {
  const receipt = await store.receipt(id)
  const event = receipt && (await store.readAt(receipt.position))
  if (event?.type !== 'validation.requested') return
  const { subject, consent } = event.data
  if (await subjects.isErased(streamOf('subject', subject))) return
  const named = await store.lookUp('consent', recordKey(await subjects.find(selector, 'id'), selector.id))
  if (consent !== undefined && consent === named) return
  throw new AverbaError('COMMAND_REUSED', 'Cannot validate: this id was used without this consent', {
    hint: 'Use a new id for a validation under this consent',
  })
}

/**
 * Uses a consent for a validation and returns our id of it. The use is recorded once, even when the validation is
 * requested several times at once. A use that was refused, or whose consent is no longer effective, is decided again.
 */
async function useOnce(
  { store }: ApiContext,
  { use, standing }: Pick<Standings, 'use' | 'standing'>,
  { id: validation, subject, which, basis }: NamedUse & { readonly subject: SubjectRef },
  commandOptions: Omit<CommandOptions, 'basis' | 'commandId'>,
): Promise<string> {
  checkBasis(basis)
  const { purpose, legalBasis } = basis
  const { id, ageMaxMs } = which
  const consent = { subject, id, ...(ageMaxMs !== undefined && { ageMaxMs }) }
  for (let after = 0; ; ) {
    const name = { validation, subject, id, age: String(ageMaxMs ?? ''), purpose, legalBasis, after }
    const commandId = `use-${toLetters(store.digestHex('use', canonicalJson(name)))}`
    const before = await store.receipt(commandId)
    const position =
      before?.position ??
      (await use(consent, { ...commandOptions, basis: { purpose, legalBasis }, commandId })).position
    const used = await store.readAt(position)
    const isUsed = used?.type === 'consent.used'
    if (isUsed && (!before || (await standing(consent)).effective)) return idOfStream(used.stream)
    after = position
  }
}

/**
 * Sends calls that name a consent only while it is effective by the log, checked right before each request. A withheld
 * call was certainly not made and is declined for good, since an ended consent does not become effective again.
 */
export function guardByNamedConsents(
  context: Pick<ApiContext, 'store' | 'clock'>,
  { [validatePerson]: performer }: PerformersOf<ValidationEffects>,
): PerformersOf<Pick<EffectTypes, typeof validatePerson>> {
  return {
    [validatePerson]: guardEffect(context.store, performer, pending => withholdCall(context, pending), endGivenUp),
  }
}

function endGivenUp(
  pending: Pick<PendingOf<typeof validatePerson>, 'stream' | 'opens'>,
  sentBefore: boolean,
): WithheldValidation {
  const parts = { problem: { owner: effectOwner(pending), value: { ...withdrawnProblem } } }
  return { type: 'validation.withhold', data: { by: 'operator', ...(sentBefore && { sentBefore }) }, parts }
}

const validatePerson = 'validationService.validatePerson'

/** Returns what ends a call whose consent is not effective; `undefined` when it is, or when none is named. */
async function withholdCall(
  { store, clock }: Pick<ApiContext, 'store' | 'clock'>,
  pending: Pick<PendingOf<typeof validatePerson>, 'data' | 'stream' | 'opens'>,
): Promise<EndWithheldCall<WithheldValidation> | undefined> {
  const { consent } = pending.data
  if (consent === undefined) return undefined
  const { events, last } = await readConsentEvents(store, streamOf('consent', consent))
  // The system's clock may have been set back: not before the last event.
  const at = toInstant(Math.max(clock.now(), last ? fromInstant(last.at) : 0))
  const { reason } = evaluateAt(events, { at, knownAt: at, ageMaxMs: null, syncedAt: null })
  if (reason === 'active') return undefined
  return sentBefore => {
    const data = { reason, at, position: last?.position ?? 0, ...(sentBefore && { sentBefore }) }
    const value = { ...notEffectiveProblem, title: sentBefore ? notResentTitle : neverSentTitle }
    const parts = { problem: { owner: effectOwner(pending), value } }
    const fact = { type: 'validation.withhold', data, parts } as const
    return { status: 'declined', reason: `the consent is not effective: ${reason}`, fact }
  }
}

const notEffectiveProblem = { status: 0, code: 'CONSENT_NOT_EFFECTIVE' }
const neverSentTitle = 'The named consent is no longer effective: nothing was sent'
const notResentTitle =
  'The named consent is no longer effective: an earlier request was sent but not processed, and it was not repeated'

/** Encodes a digest in letters only: a command id must not contain eleven digits in a row, which could be a CPF. */
function toLetters(digest: string): string {
  return digest.replace(/\d/g, digit => 'ghijklmnop'.charAt(Number(digit)))
}
