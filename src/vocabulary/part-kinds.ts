import { AverbaError } from './errors.ts'

/** Kinds of parts that a host decides about, with the parts that each kind holds. */
export const partKinds = {
  'validation.claims': ['validation.requested/claims'],
  'validation.result': ['validation.answered/result', 'validation.inconclusive/unreadable'],
  'notification.body': [
    'notification.received/body',
    'notification.recovered/body',
    // What the portal recorded of deliveries that failed: nobody knows whom it is about.
    'subscription.failing/content',
    'portal.foreignFailure/content',
    'portal.failuresListed/unreadable',
  ],
  'consent.detail': ['consent.described/detail'],
} as const

/** A kind of parts that can be kept beyond an erasure, or only for some time. */
export type PartKind = keyof typeof partKinds

/** The kinds of records that can have keys of their own: the machines whose events have parts. */
export const recordKinds = [
  'consent',
  'notification',
  'portal',
  'subject',
  'subscription',
  'validation',
] as const

/** A kind of records that can have keys of their own. */
export type RecordKind = (typeof recordKinds)[number]

/** The kind of a part by the type of its event and its name; `undefined` where no host decides about it. */
export function partKindOf(part: { type: string; name: string }): PartKind | undefined {
  return kindByPart.get(`${part.type}/${part.name}`)
}

const kindByPart = new Map<string, PartKind>(
  // Its own keys.
  Object.entries(partKinds).flatMap(([kind, parts]) => parts.map(part => [part, kind as PartKind] as const)),
)

/**
 * Checks kinds that a host gives.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function checkPartKinds(given: readonly string[]): asserts given is readonly PartKind[] {
  if (given.every(kind => Object.hasOwn(partKinds, kind))) return
  throw new AverbaError('INVALID_INPUT', 'Cannot tell the kind of parts: it is unknown', {
    hint: `Use some of ${Object.keys(partKinds).join(', ')}`,
  })
}
