import type { Area } from './area.ts'
import type { Fresh } from './consent-readings.ts'
import { checkBasis } from './given.ts'
import type { Basis } from './message.ts'
import type { Ask } from './outcome.ts'
import { canonicalJson } from './proof/canonical-json.ts'
import type { Standings } from './standings.ts'
import type { SubjectRef } from './subjects.ts'

/** The consent that a validation rests on, whose it is, and what for. */
export interface NamedConsent extends Fresh {
  /** The host's id of the validation. */
  readonly validation: string
  readonly subject: SubjectRef
  /** The service's id of the consent. */
  readonly id: string
  readonly basis: Basis
}

/**
 * Uses a consent for a validation: recorded once, whoever asks for the validation at the same time. One that was refused,
 * or that does not stand any more, is used anew: the answer is always that of now.
 */
export async function useNamedConsent(
  { store }: Area,
  { use, standing }: Pick<Standings, 'use' | 'standing'>,
  { validation, subject, id, ageMaxMs, basis }: NamedConsent,
  ask: Omit<Ask, 'basis' | 'commandId'>,
): Promise<void> {
  checkBasis(basis)
  const { purpose, legalBasis } = basis
  const which = { subject, id, ...(ageMaxMs !== undefined && { ageMaxMs }) }
  for (let after = 0; ; ) {
    const name = { validation, subject, id, age: String(ageMaxMs ?? ''), purpose, legalBasis, after }
    const digest = store.digest('use', canonicalJson(name))
    const commandId = `use-${inLetters(digest)}`
    const before = await store.receipt(commandId)
    if (!before) return void (await use(which, { ...ask, basis: { purpose, legalBasis }, commandId }))
    const used = await store.readAt(before.position)
    if (used?.type === 'consent.used' && (await standing(which)).effective) return
    after = before.position
  }
}

/** Eleven digits in a row could be a CPF, which no command id may hold. */
function inLetters(digest: Uint8Array): string {
  return Buffer.from(digest)
    .toString('hex')
    .replace(/\d/g, digit => 'ghijklmnop'.charAt(Number(digit)))
}
