import { z } from 'zod'
import { dayMs } from '../../vocabulary/instant.ts'
import { type ServiceName, serviceNames } from '../../vocabulary/service-name.ts'

/** The kinds that befall a call, to any service or to the receiver. */
const callKinds = [
  'refuse',
  'reset',
  'lose',
  'delay',
  'status',
  'html',
  'contentType',
  'truncate',
  'oversize',
  'trickle',
] as const

/** The kinds that befall a connection, before any request. */
const certificateKinds = ['expiredCertificate', 'unknownCertificate'] as const
/** The kinds that befall deliveries to the receiver alone. */
const deliveryKinds = ['duplicate', 'reorder', 'wrongSecret'] as const

/** What only these kinds can be told. */
const ownMembers: { readonly [K in FaultKind]?: readonly OwnMember[] } = {
  delay: ['ms'],
  trickle: ['ms'],
  reorder: ['ms'],
  clockSkew: ['ms'],
  status: ['status', 'retryAfterS'],
  rejectToken: ['ended'],
}
type OwnMember = 'ms' | 'status' | 'retryAfterS' | 'ended'

const centuryMs = 100 * 365 * dayMs

/**
 * What can go wrong at a service, on the way to it, or on the way to the receiver, as data:
 *
 * - `refuse`: the connection is refused. Over a real socket it is closed when the request arrives, which
 *   looks like `reset`.
 * - `reset`: the connection breaks before the work is done; `lose`: after it, so that the answer is lost.
 * - `delay`: the answer comes `ms` later.
 * - `trickle`: the answer comes in small pieces, `ms` apart; without `ms` slower than any budget allows.
 * - `status`: another status with a problem body, and `retryAfterS` where given; no work is done.
 * - `html`, `contentType`: the answer of the work as a page, or under the wrong content type.
 * - `truncate`, `oversize`: half of the answer, or far too much.
 * - `expiredCertificate`, `unknownCertificate`: what the next connections are shown.
 * - `rejectToken`: the validation service answers 401 to a token that lives. The token service ends that
 *   token too, unless `ended` is false.
 * - `duplicate`, `reorder`, `wrongSecret`: a delivery is sent twice, is sent after the one that follows it
 *   (or after `ms`, a second by default), or carries secrets that were never agreed.
 * - `clockSkew`: the service's clock is `ms` ahead of ours, or behind where negative, until the faults end.
 */
export const faultSchema = z
  .strictObject({
    kind: z.enum([...callKinds, ...certificateKinds, 'rejectToken', ...deliveryKinds, 'clockSkew']),
    /** What it befalls; every service when absent. `receiver` stands for the deliveries of the portal. */
    service: z.enum([...serviceNames, 'receiver']).optional(),
    /** The method, and a part of the path; any when absent. */
    method: z.enum(['GET', 'POST', 'PUT', 'DELETE', 'HEAD']).optional(),
    path: z
      .string()
      .max(200)
      .refine(path => !/[?#]|:\/\//.test(path), 'is a part of the path alone')
      .optional(),
    /** How often it happens; for ever when absent. */
    times: z.int().positive().optional(),
    /** How likely it is each time, in percent; certain when absent. */
    percent: z.int().min(1).max(100).optional(),
    status: z.int().min(400).max(599).optional(),
    retryAfterS: z.int().nonnegative().optional(),
    ms: z.int().min(-centuryMs).max(centuryMs).optional(),
    /** Whether a token that is rejected early is over at the token service too; true when absent. */
    ended: z.boolean().optional(),
  })
  .superRefine((fault, context) => {
    for (const [path, message] of contradictionsOf(fault)) {
      context.addIssue({ code: 'custom', path: [path], message })
    }
  })

/** A fault: what goes wrong, where, and how often. */
export type Fault = z.infer<typeof faultSchema>
/** The kind of a fault, such as `refuse` or `status`. */
export type FaultKind = Fault['kind']
/** What a fault can befall. */
export type FaultyService = ServiceName | 'receiver'

/** Members that a kind has no use for, or lacks: accepted without effect, they would mislead. */
function* contradictionsOf(fault: Fault): Generator<readonly [string, string]> {
  const { kind, service, method, path, times, percent, ms, status, retryAfterS, ended } = fault
  const isOneOf = (kinds: readonly string[]) => kinds.includes(kind)
  if (isOneOf(deliveryKinds) && service !== undefined && service !== 'receiver')
    yield ['service', `${kind} befalls the receiver`]
  if (kind === 'rejectToken' && service !== undefined && service !== 'validationService')
    yield ['service', 'rejectToken befalls the validationService']
  if (kind === 'clockSkew' && service === 'receiver') yield ['service', 'the receiver has no simulated clock']
  const isBeforeRequest = kind === 'clockSkew' || kind === 'rejectToken' || isOneOf(certificateKinds)
  if (isBeforeRequest && (method ?? path) !== undefined)
    yield [method === undefined ? 'path' : 'method', `${kind} befalls no single operation`]
  if (kind === 'clockSkew' && (times ?? percent) !== undefined)
    yield [times === undefined ? 'percent' : 'times', 'clockSkew lasts until the faults end']
  if (kind !== 'clockSkew' && ms !== undefined && ms < 0) yield ['ms', 'only clockSkew may be negative']
  if ((kind === 'delay' || kind === 'clockSkew') && ms === undefined)
    yield ['ms', `${kind} does nothing without it`]
  const own = ownMembers[kind] ?? []
  for (const [member, value] of Object.entries({ ms, status, retryAfterS, ended }))
    if (value !== undefined && !own.some(each => each === member)) yield [member, `${kind} has no use for it`]
}

/** Reports whether a fault is one that a connection meets before any request. */
export function isCertificateFault({ kind }: Fault): boolean {
  return certificateKinds.some(each => each === kind)
}

/** Reports whether a fault applies to a service. Without a name it applies to all four, or to the kind's own. */
export function isMeantFor({ kind, service }: Fault, candidate: FaultyService): boolean {
  if (deliveryKinds.some(each => each === kind)) return candidate === 'receiver'
  if (kind === 'rejectToken') return candidate === 'validationService'
  return service === undefined ? candidate !== 'receiver' : candidate === service
}
