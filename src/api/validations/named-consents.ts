import { type EndWithheldCall, guardEffect } from '../../engine/performing/guarded-performer.ts'
import { canonicalJson } from '../../proof/canonical-json.ts'
import type { Cpf } from '../../vocabulary/cpf.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Basis, PendingEffect } from '../../vocabulary/message.ts'
import { idOfStream, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import { effectOwner, type Performers } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'
import { checkBasis } from '../arguments.ts'
import type { Standings } from '../consents/effectiveness.ts'
import { readConsentEvents } from '../consents/event-history.ts'
import type { FreshnessOptions } from '../consents/readings.ts'
import { evaluateAt } from '../consents/timeline.ts'
import type { RecordSelector, SubjectRef } from '../subject-directory.ts'

/** The consent that a validation rests on, whose it is, and what for. */
interface NamedConsent extends FreshnessOptions {
  /** The host's id of the validation. */
  readonly validation: string
  readonly subject: SubjectRef
  /** The service's id of the consent. */
  readonly id: string
  readonly basis: Basis
}

/** Whose the consent is that a validation names, and our id of it. */
export interface NamedConsentIds {
  readonly subject: SubjectRef
  readonly consent: string
}

/**
 * Uses the consent that a validation rests on, one of the very person who is validated; `undefined` where the
 * validation was asked for before, with the same consent.
 *
 * @throws {AverbaError} `COMMAND_REUSED` where it was asked for with another one, or none: its call rests on that
 */
export async function useNamed(
  context: ApiContext,
  standings: Pick<Standings, 'use' | 'standing'>,
  { id, cpf, which, basis }: { id: string; cpf: Cpf; which: RecordSelector & FreshnessOptions; basis: Basis },
  commandOptions: Omit<CommandOptions, 'basis' | 'commandId'>,
): Promise<NamedConsentIds | undefined> {
  if (await context.store.receipt(id)) {
    await checkNamedBefore(context, id, which)
    return undefined
  }
  const { subject } = await context.subjects.meet(cpf, 'validation')
  if ((await context.subjects.find(which)) !== subject)
    throw new AverbaError('INVALID_INPUT', 'Cannot use the consent: it is of another person')
  const { ageMaxMs } = which
  const fresh = ageMaxMs !== undefined && { ageMaxMs }
  const consent = { validation: id, subject, id: which.id, ...fresh, basis }
  return { subject, consent: await useConsent(context, standings, consent, commandOptions) }
}

/**
 * Refuses a validation that was asked for before with another consent, or none. What was answered from an earlier
 * validation was sent to nobody, and rests on no consent.
 *
 * @throws {AverbaError} `COMMAND_REUSED`
 */
export async function checkNamedBefore(
  { store, subjects }: ApiContext,
  id: string,
  selector: RecordSelector,
): Promise<void> {
  const receipt = await store.receipt(id)
  const event = receipt && (await store.readAt(receipt.position))
  if (event?.type !== 'validation.requested') return
  const { subject, consent } = event.data as { subject: SubjectRef; consent?: string } // As the machine writes it.
  if (await subjects.isErased(streamOf('subject', subject))) return
  const named = await store.lookUp('consent', `${await subjects.find(selector)}\0${selector.id}`)
  if (consent !== undefined && consent === named) return
  throw new AverbaError('COMMAND_REUSED', 'Cannot validate: this id was asked without this consent', {
    hint: 'What it sends rests on what it was first asked with: give a validation under a consent an id of its own',
  })
}

/**
 * Uses a consent for a validation, and gives our id of it: recorded once, even when the validation is asked for several
 * times at once. A use that was refused, or whose consent no longer stands, is decided anew: the answer is always that
 * of now.
 */
async function useConsent(
  { store }: ApiContext,
  { use, standing }: Pick<Standings, 'use' | 'standing'>,
  { validation, subject, id, ageMaxMs, basis }: NamedConsent,
  commandOptions: Omit<CommandOptions, 'basis' | 'commandId'>,
): Promise<string> {
  checkBasis(basis)
  const { purpose, legalBasis } = basis
  const which = { subject, id, ...(ageMaxMs !== undefined && { ageMaxMs }) }
  for (let after = 0; ; ) {
    const name = { validation, subject, id, age: String(ageMaxMs ?? ''), purpose, legalBasis, after }
    const digest = store.digest('use', canonicalJson(name))
    const commandId = `use-${inLetters(digest)}`
    const before = await store.receipt(commandId)
    const position =
      before?.position ??
      (await use(which, { ...commandOptions, basis: { purpose, legalBasis }, commandId })).position
    const used = await store.readAt(position)
    const isUsed = used?.type === 'consent.used'
    if (isUsed && (!before || (await standing(which)).effective)) return idOfStream(used.stream)
    after = position
  }
}

/**
 * Lets calls that name a consent leave only while it stands, by what the log knows right before each request. A call
 * that may not leave was certainly not made, and ends for good: a consent that ended does not come back.
 */
export function underNamedConsents(
  context: Pick<ApiContext, 'store' | 'clock'>,
  performers: Performers,
): Performers {
  const held = Object.entries(performers).map(([type, performer]) => {
    return [type, guardEffect(context.store, performer, pending => withhold(context, pending))] as const
  })
  return Object.fromEntries(held)
}

/** What ends a call whose consent does not stand; `undefined` where it stands, or none is named. */
async function withhold(
  { store, clock }: Pick<ApiContext, 'store' | 'clock'>,
  pending: PendingEffect,
): Promise<EndWithheldCall | undefined> {
  const { consent } = pending.data as { consent?: string } // As the machine writes it.
  if (consent === undefined) return undefined
  const { events, last } = await readConsentEvents(store, streamOf('consent', consent))
  // The system's clock may have been set back: never before what is recorded.
  const at = toInstant(Math.max(clock.now(), last ? fromInstant(last.at) : 0))
  const { reason } = evaluateAt(events, { at, knownAt: at, ageMaxMs: null, syncedAt: null })
  if (reason === 'active') return undefined
  return sentBefore => {
    const data = { reason, at, position: last?.position ?? 0, ...(sentBefore && { sentBefore }) }
    const value = { ...notEffective, title: sentBefore ? notAgain : neverSent }
    const fact = {
      type: 'validation.withhold',
      data,
      parts: { problem: { owner: effectOwner(pending), value } },
    }
    return { status: 'declined', reason: `the consent does not stand: ${reason}`, fact }
  }
}

const notEffective = { status: 0, code: 'CONSENT_NOT_EFFECTIVE' }
const neverSent = 'The consent that it names does not stand any more: nothing was sent'
const notAgain =
  'The consent that it names does not stand any more: it was sent before, and not processed, and not sent again'

/** In letters alone: eleven digits in a row could be a CPF, which no command id may hold. */
function inLetters(digest: Uint8Array): string {
  return Buffer.from(digest)
    .toString('hex')
    .replace(/\d/g, digit => 'ghijklmnop'.charAt(Number(digit)))
}
