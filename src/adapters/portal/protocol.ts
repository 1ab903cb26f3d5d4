import { z } from 'zod'
import { parseBrasilia } from '../../vocabulary/brasilia.ts'
import { holdsCpf } from '../../vocabulary/cpf.ts'
import { parseJson } from '../../vocabulary/json.ts'
import type { Instant, Json } from '../../vocabulary/message.ts'
import { type Listing, readListing, withoutEndSlashes } from '../http/listing.ts'
import { assinaturaListadaSchema, assinaturaSchema, falhaSchema, limits } from './wire.ts'

/**
 * Writes the requests of the webhook portal and reads its answers: pure.
 *
 * @see document 3, sections 2 and 4
 */

/** The subscriber's own credentials, as they travel. */
export interface Secrets {
  readonly chaveSecreta?: string
  readonly chaveAutenticacao?: string
}

/** What is asked for: always every field, since what leaving one out means is not shown. */
export interface SubscriptionRequest extends Secrets {
  readonly evento: string
  readonly endpoint: string
}

/** A subscription as the portal lists it. The secrets stay in memory and go nowhere from here. */
export interface ListedSubscription {
  readonly remoteId: number
  readonly evento: string
  readonly endpoint: string
  readonly secrets: Secrets
  readonly isDeleted: boolean
  readonly registeredAt: Instant | null
  readonly deletedAt: Instant | null
  readonly reason: string | null
  readonly lastSuccessAt: Instant | null
}

/** A failed delivery as the portal recorded it. */
export interface ListedFailure {
  readonly remoteId: number
  readonly evento: string
  readonly failedAt: Instant | null
  readonly record: Json
}

function address(base: string, path = ''): URL {
  return new URL(`${withoutEndSlashes(base)}/portal/api/ext/webhook${path}`)
}

function write(method: string, url: URL, headers: Record<string, string>, body?: object): Request {
  const json = body && { 'content-type': 'application/json' }
  return new Request(url, {
    method,
    redirect: 'manual', // A way out of the host's own would take the secrets elsewhere.
    headers: { ...headers, accept: 'application/json', ...json },
    ...(body && { body: JSON.stringify(body) }),
  })
}

/** Writes the subscription of an event. */
export function writeSubscribe(
  base: string,
  headers: Record<string, string>,
  wanted: SubscriptionRequest,
): Request {
  return write('POST', address(base), headers, wanted)
}

/** Writes the listing, deleted subscriptions included: only then is their reason told. */
export function writeList(base: string, headers: Record<string, string>): Request {
  const url = address(base)
  url.searchParams.set('exibirInativos', 'true')
  return write('GET', url, headers)
}

/**
 * Writes a change, with the id in the path and in the body. A key that is not wanted is sent empty: whether leaving it
 * out would clear or keep it is not shown.
 */
export function writeChange(
  base: string,
  headers: Record<string, string>,
  id: number,
  wanted: SubscriptionRequest,
): Request {
  const every = { chaveSecreta: '', chaveAutenticacao: '', ...wanted }
  return write('PUT', address(base, `/${id}`), headers, { id, ...every })
}

/** Writes a deletion, with the id in the path and in the body. */
export function writeDelete(base: string, headers: Record<string, string>, id: number): Request {
  return write('DELETE', address(base, `/${id}`), headers, { id })
}

/** `day` is `yyyy-MM-dd`, a day in Brasilia; the portal's today when null. */
export function writeFailures(base: string, headers: Record<string, string>, day: string | null): Request {
  const url = address(base, '/falhas')
  if (day !== null) url.searchParams.set('data', day.split('-').reverse().join(''))
  return write('GET', url, headers)
}

/** Reads the portal's id of a subscription that was created or changed; `undefined` when there is none. */
export function readSubscribed(text: string): number | undefined {
  const parsed = assinaturaSchema.pick({ id: true }).safeParse(parseJson(text))
  return parsed.success ? parsed.data.id : undefined
}

/** Whether an answer may be the portal's to a deletion, which has no fields: not a page of something in front of it. */
export function isDeleted(text: string): boolean {
  return text.trim() === '' || parseJson(text) !== undefined
}

/** What may stand in clear in the log: bounded, well-formed, and naming nobody. */
const clearText = (max: number) =>
  z
    .string()
    .max(max)
    .refine(text => text.isWellFormed() && !holdsCpf(text))

const listedSchema = assinaturaListadaSchema.extend({
  evento: clearText(limits.evento),
  endpoint: clearText(limits.endpoint).refine(text => !holdsCredentials(text)),
})

/** What can be known of a subscription whose row cannot be read. */
const unreadableSchema = z
  .object({ id: assinaturaListadaSchema.shape.id.catch(-1), evento: z.string().optional().catch(undefined) })
  .catch({ id: -1, evento: undefined })

const failureSchema = falhaSchema.pick({ id: true }).extend({
  evento: clearText(limits.evento),
  data: z.unknown(),
})

/** Reads the list of subscriptions; `undefined` when it is not one. */
export function readList(text: string): Listing<ListedSubscription> | undefined {
  return readListing(text, listedSchema, toListed)
}

/** Reads of an unreadable row which subscription it may be: null and `undefined` where it does not tell. */
export function readUnreadable(record: Json): { remoteId: number | null; evento: string | undefined } {
  const { id, evento } = unreadableSchema.parse(record)
  return { remoteId: id < 0 ? null : id, evento }
}

/** Reports whether an address holds a user name or a password. */
export function holdsCredentials(address: string): boolean {
  const url = URL.parse(address)
  return url !== null && (url.username !== '' || url.password !== '')
}

/**
 * The shortest record is longer: a list with more records than its length allows is rejected, however large it may be.
 */
const failureCharactersMin = 64
const failuresMin = 10_000

/** Reads the failure records; `undefined` when they are not a list. */
export function readFailures(text: string): Listing<ListedFailure> | undefined {
  const read = ({ id, evento, data }: z.infer<typeof failureSchema>, record: Json) => {
    return { remoteId: id, evento, failedAt: parseBrasilia(data), record }
  }
  return readListing(text, failureSchema, read, failuresMin + Math.floor(text.length / failureCharactersMin))
}

function toListed(row: z.infer<typeof assinaturaListadaSchema>): ListedSubscription {
  const { chaveSecreta, chaveAutenticacao, motivoExclusao } = row
  // The list gives no state of its own: a time or a reason of deletion says that it is deleted.
  const isDeleted = Boolean(row.dataExclusao) || Boolean(motivoExclusao)
  return {
    remoteId: row.id,
    evento: row.evento,
    endpoint: row.endpoint,
    secrets: { ...(chaveSecreta && { chaveSecreta }), ...(chaveAutenticacao && { chaveAutenticacao }) },
    isDeleted,
    registeredAt: parseBrasilia(row.dataRegistro),
    deletedAt: parseBrasilia(row.dataExclusao),
    reason: motivoExclusao ?? null,
    lastSuccessAt: parseBrasilia(row.dataUltimoSucesso),
  }
}
