import { z } from 'zod'
import { dayMs } from '../../vocabulary/instant.ts'
import { type ServiceName, serviceNames } from '../../vocabulary/names.ts'

/** Kinds that affect a call to any service or to the receiver: its request, or its answer. */
const requestKinds = ['refuse', 'reset', 'lose', 'delay', 'status', 'gateway'] as const
const answerKinds = ['html', 'contentType', 'truncate', 'oversize', 'trickle'] as const
/** Kinds that affect a connection, before any request. */
const certificateKinds = ['expiredCertificate', 'unknownCertificate'] as const
const deliveryKinds = ['duplicate', 'reorder', 'wrongSecret'] as const

/** The members that only some kinds use. */
const kindsByMember = {
  ms: ['delay', 'trickle', 'reorder', 'clockSkew'],
  status: ['status', 'gateway'],
  retryAfterS: ['status'],
  ended: ['rejectToken'],
} as const

/** The most that a fault or a control moves a time by. */
export const centuryMs = 100 * 365 * dayMs

/**
 * A fault at a service, on the way to it, or on the way to the receiver:
 *
 * - `refuse`: the connection is refused. Over a real socket it is closed when the request arrives, like `reset`.
 * - `reset`: the connection breaks before the service does its work; `lose`: after it, so the answer is lost.
 * - `delay`: the request arrives, and so the answer comes, `ms` later.
 * - `trickle`: the answer comes in small pieces, `ms` apart; by default slower than any client's budget.
 * - `status`: an error status with a problem body, and `Retry-After` from `retryAfterS`; the service does no work.
 * - `gateway`: what stands before the service answers with an error status in HTML, as nginx does for a bad client
 *   certificate (400, the default) or a proxy for its own reasons (401, 403, 404, 407, 413, 502); no work is done.
 * - `html`, `contentType`: the service works, but answers an HTML page, or with the wrong content type.
 * - `truncate`, `oversize`: half of the answer, or a far too long one.
 * - `expiredCertificate`, `unknownCertificate`: the next connections get this certificate.
 * - `rejectToken`: the validation service answers 401 to a valid token. The token service ends that token too, unless
 *   `ended` is false.
 * - `duplicate`, `reorder`, `wrongSecret`: a delivery is sent twice, is sent after the next one (or after `ms`, by
 *   default a second), or carries wrong secrets.
 * - `clockSkew`: the service's clock is `ms` ahead of ours (behind if negative) until the faults end.
 */
export const faultSchema = z
  .strictObject({
    kind: z.enum([...requestKinds, ...answerKinds, ...certificateKinds, 'rejectToken', ...deliveryKinds, 'clockSkew']),
    /** Every service when absent. `receiver` means the portal's deliveries. */
    service: z.enum([...serviceNames, 'receiver']).optional(),
    /** The method of the requests; `path` is a part of their path. Any when absent. */
    method: z.enum(['GET', 'POST', 'PUT', 'DELETE', 'HEAD']).optional(),
    path: z
      .string()
      .max(200)
      .refine(path => !/[?#]|:\/\//.test(path), 'must be a part of the path only')
      .optional(),
    /** How often it happens; without limit when absent. */
    times: z.int().positive().optional(),
    /** Its probability each time, in percent; 100 when absent. */
    percent: z.int().min(1).max(100).optional(),
    status: z.int().min(400).max(599).optional(),
    retryAfterS: z.int().nonnegative().optional(),
    ms: z.int().min(-centuryMs).max(centuryMs).optional(),
    /** Whether the token service ends the rejected token too; true when absent. */
    ended: z.boolean().optional(),
  })
  .superRefine((fault, context) => {
    for (const [path, message] of findContradictions(fault)) context.addIssue({ code: 'custom', path: [path], message })
  })

/** A fault: what goes wrong, where, and how often. */
export type Fault = z.infer<typeof faultSchema>
/** The kind of a fault, such as `refuse` or `status`. */
export type FaultKind = Fault['kind']
export type FaultTarget = ServiceName | 'receiver'

function* findContradictions(fault: Fault): Generator<readonly [string, string]> {
  const { kind, service, method, path, times, percent, ms } = fault
  const isDelivery = deliveryKinds.some(each => each === kind)
  const only = isDelivery ? 'receiver' : kind === 'rejectToken' ? 'validationService' : undefined
  if (only && (service ?? only) !== only) yield ['service', `${kind} applies to the ${only} only`]
  if (kind === 'clockSkew' && service === 'receiver') yield ['service', 'the receiver has no simulated clock']
  const isBeforeRequest = kind === 'clockSkew' || kind === 'rejectToken' || isCertificateFault(fault)
  if (isBeforeRequest && (method ?? path) !== undefined)
    yield [method === undefined ? 'path' : 'method', `${kind} cannot be limited to an operation`]
  if (kind === 'clockSkew' && (times ?? percent) !== undefined)
    yield [times === undefined ? 'percent' : 'times', 'clockSkew lasts until the faults end']
  if (kind !== 'clockSkew' && ms !== undefined && ms < 0) yield ['ms', 'only clockSkew may be negative']
  if ((kind === 'delay' || kind === 'clockSkew') && ms === undefined) yield ['ms', `${kind} needs it`]
  for (const [member, kinds] of Object.entries(kindsByMember))
    if (fault[member as keyof typeof kindsByMember] !== undefined && !kinds.some(each => each === kind))
      yield [member, `${kind} does not use it`]
}

/** Reports whether a fault affects a connection before any request. */
export function isCertificateFault({ kind }: Fault): boolean {
  return certificateKinds.some(each => each === kind)
}

/** Reports whether a fault applies to a target. Without `service` it applies to all four, or to the kind's own. */
export function appliesTo({ kind, service }: Fault, candidate: FaultTarget): boolean {
  if (deliveryKinds.some(each => each === kind)) return candidate === 'receiver'
  if (kind === 'rejectToken') return candidate === 'validationService'
  return service === undefined ? candidate !== 'receiver' : candidate === service
}

/** Describes what is wrong with a member of outside input. `whole` names the input itself. */
export function describeIssues({ issues }: z.ZodError, whole: string): string {
  return issues.map(({ path, message }) => `${path.join('.') || whole}: ${message}`).join('; ')
}
