import { AverbaError, type ErrorCode } from './errors.ts'
import type { PartAddress, PendingEffect } from './message.ts'

/** Splits a part's address into the stream and version of its event, and its name. */
export function parsePartAddress(address: PartAddress): [stream: string, version: number, name: string] {
  const [stream = '', version = '', name = ''] = address.split('/')
  return [stream, Number(version), name]
}

/** Splits an effect's id into the stream and version of its event, and its number there. */
export function parseEffectId(id: string): [stream: string, version: number, n: number] {
  const [stream = '', version = '', n = ''] = id.split('/')
  return [stream, Number(version), Number(n)]
}

/** The kind of a stream: the name of its machine. */
type StreamKind =
  | 'subject'
  | 'consent'
  | 'validation'
  | 'subscription'
  | 'notification'
  | 'token'
  | 'budget'
  | 'certificate'
  | 'retention'
  | 'reveal'

/** Returns the name of a stream. A stream is also an owner of parts. */
export function streamOf(kind: StreamKind, id: string): string {
  return `${kind}-${id}`
}

export function isStreamOf(kind: StreamKind, stream: string): boolean {
  return stream.startsWith(`${kind}-`)
}

/** Returns the id in a stream's name, which follows its kind. */
export function idOfStream(stream: string): string {
  return stream.slice(stream.indexOf('-') + 1)
}

/** Returns the address of a data subject's CPF: a part of the subject's first event. */
export function cpfAddress(subject: string): PartAddress {
  return `${streamOf('subject', subject)}/1/cpf`
}

/** Returns the stream of an effect's own events: its attempts and deferrals. */
export function effectStream(pending: Pick<PendingEffect, 'id' | 'position'>): string {
  const [, , n] = parseEffectId(pending.id)
  return `effect-${pending.position}-${n}`
}

/** Returns the name of the follower that keeps a handler's position in the log. */
export function followerName({ evento, name }: { readonly evento: string; readonly name: string }): string {
  return `notifications/${evento}/${name}`
}

export const portalStream = 'portal-main'

/** Reports whether a store is the address of a database on a PostgreSQL server, instead of the path of a file. */
export function isOnPostgres(store: string): boolean {
  return /^postgres(ql)?:/i.test(store)
}

export function keyringPath(store: string): string {
  return `${store}.keys`
}

/** Returns the path of a store's high-water mark. */
export function markPath(store: string): string {
  return `${store}.mark`
}

export const serviceNames = ['consentService', 'tokenService', 'validationService', 'portal'] as const

/** One of the four services. */
export type ServiceName = (typeof serviceNames)[number]

export function serviceOf(effectType: string): string {
  return effectType.slice(0, effectType.indexOf('.'))
}

/** How the error names the object: `Unknown option "x"`, and where: `of the consent`. */
interface NameList {
  readonly noun: 'option' | 'member'
  readonly of?: string
  readonly code?: ErrorCode
  readonly more?: string
}

/** Refuses members with other names: they would be ignored silently. Throws `INVALID_INPUT`, or the given code. */
export function checkKnownNames(
  given: object,
  known: readonly string[],
  { noun, of, code = 'INVALID_INPUT', more = '' }: NameList,
): void {
  const hint = `Known ${noun}s: ${known.join(', ')}${more}`
  if (Object(given) !== given)
    throw new AverbaError(code, 'Cannot use the argument: it is missing, or not an object', { hint })
  const unknown = Object.keys(given).find(name => !known.includes(name))
  if (unknown === undefined) return
  // Any other text may be personal data in the place of a name.
  const name = /^[A-Za-z]{1,40}$/.test(unknown) ? ` "${unknown}"` : ''
  const where = of === undefined ? '' : ` of ${of}`
  throw new AverbaError(code, `Unknown ${noun}${name}${where}`, { hint })
}
