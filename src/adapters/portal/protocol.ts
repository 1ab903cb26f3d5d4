import { z } from 'zod'
import { parseBrasilia } from '../../vocabulary/brasilia.ts'
import { holdsCredentials } from '../../vocabulary/https-address.ts'
import { parseJson } from '../../vocabulary/json.ts'
import type { Instant, Json } from '../../vocabulary/message.ts'
import { holdsCpf } from '../../vocabulary/tax-numbers.ts'
import { type Listing, readListing, trimEndSlashes } from '../http/answer-body.ts'
import { assinaturaListadaSchema, assinaturaSchema, falhaSchema, limits, textOf } from './wire.ts'

/** Writes the requests of the webhook portal and reads its answers: pure (document 3, sections 2 and 4). */

/** The subscriber's own credentials, as they are sent. */
export interface Secrets {
  readonly chaveSecreta?: string
  readonly chaveAutenticacao?: string
}

/** The subscription to create or change to. Every field is always sent: what leaving one out means is not shown. */
export interface SubscriptionRequest extends Secrets {
  readonly evento: string
  readonly endpoint: string
}

/** A subscription as the portal lists it. The secrets stay in memory. */
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

export interface ListedFailure {
  readonly remoteId: number
  readonly evento: string
  readonly failedAt: Instant | null
  readonly record: Json
}

function portalUrl(base: string, path = ''): URL {
  return new URL(`${trimEndSlashes(base)}/portal/api/ext/webhook${path}`)
}

function portalRequest(method: string, url: URL, headers: Record<string, string>, body?: object): Request {
  const json = body && { 'content-type': 'application/json' }
  return new Request(url, {
    method,
    redirect: 'manual', // A host's own `fetch` would send the secrets elsewhere.
    headers: { ...headers, accept: 'application/json', ...json },
    ...(body && { body: JSON.stringify(body) }),
  })
}

export function writeSubscribe(base: string, headers: Record<string, string>, wanted: SubscriptionRequest): Request {
  return portalRequest('POST', portalUrl(base), headers, wanted)
}

/** Writes the listing, including deleted subscriptions: only then is the reason of a deletion shown. */
export function writeList(base: string, headers: Record<string, string>): Request {
  const url = portalUrl(base)
  url.searchParams.set('exibirInativos', 'true')
  return portalRequest('GET', url, headers)
}

/** Writes a change. An unwanted key is sent empty: whether leaving it out would clear or keep it is not shown. */
export function writeChange(
  base: string,
  headers: Record<string, string>,
  id: number,
  wanted: SubscriptionRequest,
): Request {
  const every = { chaveSecreta: '', chaveAutenticacao: '', ...wanted }
  return portalRequest('PUT', portalUrl(base, `/${id}`), headers, { id, ...every })
}

export function writeDelete(base: string, headers: Record<string, string>, id: number): Request {
  return portalRequest('DELETE', portalUrl(base, `/${id}`), headers, { id })
}

/** Writes the failure query for a day in Brasilia (`yyyy-MM-dd`), or for the portal's today when null. */
export function writeFailures(base: string, headers: Record<string, string>, day: string | null): Request {
  const url = portalUrl(base, '/falhas')
  if (day !== null) url.searchParams.set('data', day.split('-').reverse().join(''))
  return portalRequest('GET', url, headers)
}

/** Reads the portal's id of a subscription that was created or changed; `undefined` when the answer has no id. */
export function readSubscribed(text: string): number | undefined {
  const parsed = assinaturaSchema.pick({ id: true }).safeParse(parseJson(text))
  return parsed.success ? parsed.data.id : undefined
}

/** Reports whether an answer may be the portal's to a deletion, which has no fields. The page of a proxy is not. */
export function isDeleted(text: string): boolean {
  return text.trim() === '' || parseJson(text) !== undefined
}

/** A text that may be in clear in the log: limited in length, well-formed, and without a CPF. */
const clearText = (max: number) => textOf(0, max).refine(text => text.isWellFormed() && !holdsCpf(text))

const listedSchema = assinaturaListadaSchema.extend({
  evento: clearText(limits.evento),
  endpoint: clearText(limits.endpoint).refine(text => !holdsCredentials(text)),
})

const unreadableSchema = z
  .object({ id: assinaturaListadaSchema.shape.id.catch(-1), evento: z.string().optional().catch(undefined) })
  .catch({ id: -1, evento: undefined })

const failureSchema = falhaSchema.pick({ id: true }).extend({ evento: clearText(limits.evento), data: z.unknown() })

/** Reads the list of subscriptions; `undefined` when it is not a list. */
export async function readList(text: string): Promise<Listing<ListedSubscription> | undefined> {
  return readListing(text, listedSchema, toListed)
}

/** Reads which subscription an unreadable row may be: null and `undefined` if it does not say. */
export function readUnreadable(record: Json): { remoteId: number | null; evento: string | undefined } {
  const { id, evento } = unreadableSchema.parse(record)
  return { remoteId: id < 0 ? null : id, evento }
}

/** Shorter than any failure record: limits how many records a text of some length may have. */
const failureCharactersMin = 64
const failuresMin = 10_000

/** Reads the failure records; `undefined` when they are not a list. */
export async function readFailures(text: string): Promise<Listing<ListedFailure> | undefined> {
  const read = ({ id, evento, data }: z.infer<typeof failureSchema>, record: Json) => {
    return { remoteId: id, evento, failedAt: parseBrasilia(data), record }
  }
  return readListing(text, failureSchema, read, failuresMin + Math.floor(text.length / failureCharactersMin))
}

function toListed(row: z.infer<typeof assinaturaListadaSchema>): ListedSubscription {
  const { chaveSecreta, chaveAutenticacao, motivoExclusao } = row
  // The list has no state field: a time or a reason of deletion means deleted.
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
