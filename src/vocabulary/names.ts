import type { PartAddress, PendingEffect } from './message.ts'

/** What a part's address says: the stream and the version of its event, and its name there. */
export function parsePartAddress(address: PartAddress): [stream: string, version: number, name: string] {
  const [stream = '', version = '', name = ''] = address.split('/')
  return [stream, Number(version), name]
}

/** What an effect's id says: the stream and the version of the event that owes it, and which of its effects it is. */
export function parseEffectId(id: string): [stream: string, version: number, n: number] {
  const [stream = '', version = '', n = ''] = id.split('/')
  return [stream, Number(version), Number(n)]
}

/** What a stream is about: the machine that decides it. */
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

/** The stream of one thing of a kind. A stream is also an owner of parts. */
export function streamOf(kind: StreamKind, id: string): string {
  return `${kind}-${id}`
}

/** Reports whether a stream is about a thing of a kind. */
export function isStreamOf(kind: StreamKind, stream: string): boolean {
  return stream.startsWith(`${kind}-`)
}

/** The id of what a stream is about. */
export function idOfStream(stream: string): string {
  return stream.slice(stream.indexOf('-') + 1)
}

/** Where the CPF of a data subject is sealed: beside the first event. */
export function cpfAddress(subject: string): PartAddress {
  return `${streamOf('subject', subject)}/1/cpf`
}

/** The stream of an effect's own events, beside its attempts: named by its place in the ledger. */
export function effectStream(pending: Pick<PendingEffect, 'id' | 'position'>): string {
  const [, , n] = parseEffectId(pending.id)
  return `effect-${pending.position}-${n}`
}

/** The follower of the log that keeps the place of a handler. */
export function followerName({ evento, name }: { readonly evento: string; readonly name: string }): string {
  return `notifications/${evento}/${name}`
}

/** The stream of our account at the portal as a whole. */
export const portalStream = 'portal-main'

/** The keyring beside a store. */
export function keyringPath(store: string): string {
  return `${store}.keys`
}

/** The high-water mark beside a store. */
export function markPath(store: string): string {
  return `${store}.mark`
}
