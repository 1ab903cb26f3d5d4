import { holdBack, type Withhold } from '../../engine/performing/guarded-performer.ts'
import { canonicalJson } from '../../proof/canonical-json.ts'
import type { Cpf } from '../../vocabulary/cpf.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Basis, Owed } from '../../vocabulary/message.ts'
import { idOf, streamOf } from '../../vocabulary/names.ts'
import type { Ask } from '../../vocabulary/outcome.ts'
import { ownerOf, type Performers } from '../../vocabulary/performer.ts'
import type { Area } from '../area.ts'
import { checkBasis } from '../arguments.ts'
import type { Standings } from '../consents/effectiveness.ts'
import { readConsentEvents } from '../consents/event-history.ts'
import type { Fresh } from '../consents/readings.ts'
import { tell } from '../consents/timeline.ts'
import type { SubjectRef, Which } from '../subject-directory.ts'

/** The consent that a validation rests on, whose it is, and what for. */
interface NamedConsent extends Fresh {
  /** The host's id of the validation. */
  readonly validation: string
  readonly subject: SubjectRef
  /** The service's id of the consent. */
  readonly id: string
  readonly basis: Basis
}

/** Whose the consent is that a validation names, and our id of it. */
export interface Named {
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
  area: Area,
  standings: Pick<Standings, 'use' | 'standing'>,
  { id, cpf, which, basis }: { id: string; cpf: Cpf; which: Which & Fresh; basis: Basis },
  ask: Omit<Ask, 'basis' | 'commandId'>,
): Promise<Named | undefined> {
  if (await area.store.receipt(id)) {
    await checkNamedBefore(area, id, which)
    return undefined
  }
  const { subject } = await area.subjects.meet(cpf, 'validation')
  if ((await area.subjects.find(which)) !== subject)
    throw new AverbaError('INVALID_INPUT', 'Cannot use the consent: it is of another person')
  const { ageMaxMs } = which
  const fresh = ageMaxMs !== undefined && { ageMaxMs }
  const consent = { validation: id, subject, id: which.id, ...fresh, basis }
  return { subject, consent: await useConsent(area, standings, consent, ask) }
}

/**
 * Refuses a validation that was asked for before with another consent, or none. What was answered from an earlier
 * validation was sent to nobody, and rests on no consent.
 *
 * @throws {AverbaError} `COMMAND_REUSED`
 */
export async function checkNamedBefore({ store, subjects }: Area, id: string, which: Which): Promise<void> {
  const receipt = await store.receipt(id)
  const event = receipt && (await store.readAt(receipt.position))
  if (event?.type !== 'validation.requested') return
  const { subject, consent } = event.data as { subject: SubjectRef; consent?: string } // As the machine writes it.
  if (await subjects.isErased(streamOf('subject', subject))) return
  const named = await store.lookUp('consent', `${await subjects.find(which)}\0${which.id}`)
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
  { store }: Area,
  { use, standing }: Pick<Standings, 'use' | 'standing'>,
  { validation, subject, id, ageMaxMs, basis }: NamedConsent,
  ask: Omit<Ask, 'basis' | 'commandId'>,
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
      before?.position ?? (await use(which, { ...ask, basis: { purpose, legalBasis }, commandId })).position
    const used = await store.readAt(position)
    const isUsed = used?.type === 'consent.used'
    if (isUsed && (!before || (await standing(which)).effective)) return idOf(used.stream)
    after = position
  }
}

/**
 * Lets calls that name a consent leave only while it stands, by what the log knows right before each request. A call
 * that may not leave was certainly not made, and ends for good: a consent that ended does not come back.
 */
export function underNamedConsents(area: Pick<Area, 'store' | 'clock'>, performers: Performers): Performers {
  const held = Object.entries(performers).map(([type, performer]) => {
    return [type, holdBack(area.store, performer, owed => withhold(area, owed))] as const
  })
  return Object.fromEntries(held)
}

/** What ends a call whose consent does not stand; `undefined` where it stands, or none is named. */
async function withhold(
  { store, clock }: Pick<Area, 'store' | 'clock'>,
  owed: Owed,
): Promise<Withhold | undefined> {
  const { consent } = owed.data as { consent?: string } // As the machine writes it.
  if (consent === undefined) return undefined
  const { events, last } = await readConsentEvents(store, streamOf('consent', consent))
  // The system's clock may have been set back: never before what is recorded.
  const at = toInstant(Math.max(clock.now(), last ? fromInstant(last.at) : 0))
  const { because } = tell(events, { at, knownAt: at, ageMaxMs: null, syncedAt: null })
  if (because === 'active') return undefined
  return sentBefore => {
    const data = { because, at, position: last?.position ?? 0, ...(sentBefore && { sentBefore }) }
    const value = { ...notEffective, title: sentBefore ? notAgain : neverSent }
    const fact = { type: 'validation.withhold', data, parts: { problem: { owner: ownerOf(owed), value } } }
    return { status: 'declined', because: `the consent does not stand: ${because}`, fact }
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
