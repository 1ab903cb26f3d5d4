import { AverbaError } from './errors.ts'

/** Kinds of parts that a host can keep or delete, with the parts of each kind. */
export const partKinds = {
  'validation.claims': ['validation.requested/claims'],
  'validation.result': ['validation.answered/result', 'validation.inconclusive/unreadable'],
  'notification.body': [
    'notification.received/body',
    'notification.recovered/body',
    // The portal's records of failed deliveries do not say whom they are about.
    'subscription.failing/content',
    'portal.foreignFailure/content',
    'portal.failuresListed/unreadable',
  ],
  'consent.detail': ['consent.described/detail'],
  'call.answer': ['effect.deferred/answer', 'effect.parked/answer', 'effect.misunderstood/answer'],
} as const

/** A kind of parts that can be kept beyond an erasure, or for a limited time. */
export type PartKind = keyof typeof partKinds

/** The kinds of records that can have their own keys: the machines whose events have parts. */
export const recordKinds = ['consent', 'notification', 'portal', 'subject', 'subscription', 'validation'] as const

/** A kind of records that can have their own keys. */
export type RecordKind = (typeof recordKinds)[number]

/** Returns the kind of a part, by its event's type and its name; `undefined` when hosts do not decide about it. */
export function partKindOf(part: { type: string; name: string }): PartKind | undefined {
  return kindByPart.get(`${part.type}/${part.name}`)
}

const kindByPart = new Map<string, PartKind>(
  // The keys of `partKinds` are the kinds.
  Object.entries(partKinds).flatMap(([kind, parts]) => parts.map(part => [part, kind as PartKind] as const)),
)

/** Checks the kinds of parts that a host gave. Throws `INVALID_INPUT`. */
export function checkPartKinds(given: readonly string[]): asserts given is readonly PartKind[] {
  if (given.every(kind => Object.hasOwn(partKinds, kind))) return
  throw new AverbaError('INVALID_INPUT', 'Cannot use the kind of parts: it is unknown', {
    hint: `Use some of ${Object.keys(partKinds).join(', ')}`,
  })
}
