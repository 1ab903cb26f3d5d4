import { z } from 'zod'
import { parseIso } from '../../vocabulary/brasilia.ts'
import { parseJson } from '../../vocabulary/json.ts'
import type { Instant, Json } from '../../vocabulary/message.ts'
import { readCnpj } from '../../vocabulary/tax-numbers.ts'
import { type Listing, readListing, trimEndSlashes } from '../http/answer-body.ts'
import { type CienciaDetalhada, type ConsentimentoDetalhado, statusSchema } from './wire.ts'

/**
 * Writes the requests of the consent service and reads its answers: pure, and the only place that translates its names.
 * Readers require only what they need, and keep everything else unchanged.
 *
 * @see document 1, sections 2 and 4
 */

/** A consent without personal data. */
export interface Summary {
  readonly status: z.infer<typeof statusSchema>
  readonly createdAt: Instant | null
  readonly expiresAt: Instant | null
  /** Null when the service gave none or an invalid CNPJ, which stays in the record. */
  readonly controller: string | null
}

/** One record of a list: the service's id, a summary without personal data, and the whole record. */
export interface ListRecord<T> {
  readonly id: string
  readonly summary: T
  readonly record: Json
}

export type AwarenessSummary = Pick<Summary, 'createdAt' | 'controller'>

/** The address of an operation. `base` is that of the service, without `/consentimento` (section 1). */
function consentUrl(base: string, ...segments: string[]): URL {
  if (segments.includes('')) throw new TypeError('Without an id it would be the address of another operation')
  const path = segments.map(encodeURIComponent).join('/')
  return new URL(`${trimEndSlashes(base)}/consentimento/v1/${path}`)
}

/** No redirect is followed: a host's own `fetch` would send the CPF elsewhere. */
const init = { headers: { accept: 'application/json, application/problem+json' }, redirect: 'manual' } as const

/** Writes operation 1. The status is in the path, and there is no body. */
export function writeChangeStatus(base: string, cpf: string, id: string, status: string): Request {
  return new Request(consentUrl(base, 'consentimentos', cpf, id, 'status', status), { method: 'PUT', ...init })
}

/** Writes operation 3, 5 or 6 by its path. */
export function writeReading(base: string, ...path: string[]): Request {
  return new Request(consentUrl(base, ...path), init)
}

/** Writes operation 2 or 4: the list for all controllers, or for one. */
export function writeListing(base: string, name: 'consentimentos' | 'ciencias', cpf: string, cnpj?: string): Request {
  const url = consentUrl(base, name, cpf)
  if (cnpj !== undefined) url.searchParams.set('cnpj', cnpj)
  return new Request(url, init)
}

/** Writes operation 7, with the address to return to if given. */
export function writeReadLoginAddress(base: string, cpf: string, redirectUrl?: string): Request {
  const url = consentUrl(base, 'autenticacao', cpf, 'url')
  if (redirectUrl !== undefined) url.searchParams.set('redirectUrl', redirectUrl)
  return new Request(url, init)
}

/** A URL parser would resolve `.` and `..` as path segments. */
const idSchema = z
  .string()
  .min(1)
  .max(200)
  .refine(id => id.isWellFormed() && id !== '.' && id !== '..')
const optionalText = z.string().nullish().catch(null)
const statusMembers = { status: statusSchema, dataHora: optionalText, dataExpiracao: optionalText }
const summarySchema = z.looseObject({ id: idSchema, ...statusMembers, cnpjUsuario: optionalText })
const awarenessSchema = z.looseObject({ id: idSchema, dataHora: optionalText, cnpjUsuario: optionalText })

/** Reads the answer to operation 2; `undefined` when it is not a list. */
export async function readConsents(text: string): Promise<Listing<ListRecord<Summary>> | undefined> {
  return readListing(text, summarySchema, (consent, record) => {
    return { id: consent.id, summary: toSummary(consent, consent.cnpjUsuario), record }
  })
}

/** Reads the id of an otherwise unreadable record; `undefined` when the id is unreadable too. */
export function readId(record: Json): string | undefined {
  return z.object({ id: idSchema }).safeParse(record).data?.id
}

/** Reads the answer to operation 4; `undefined` when it is not a list. */
export async function readAwarenessList(text: string): Promise<Listing<ListRecord<AwarenessSummary>> | undefined> {
  return readListing(text, awarenessSchema, ({ id, dataHora, cnpjUsuario }, record) => {
    return { id, summary: { createdAt: parseIso(dataHora), controller: toCnpj(cnpjUsuario) }, record }
  })
}

/** Reads the answer to operation 1; `undefined` when it has no known status, or is about another record. */
export function readChanged(text: string, id: string): Summary | undefined {
  const parsed = summarySchema.safeParse(parseJson(text))
  return parsed.success && parsed.data.id === id ? toSummary(parsed.data, parsed.data.cnpjUsuario) : undefined
}

/** The subject and the record of a request. Answers about others are rejected. */
export interface ConsentQuery {
  readonly cpf: string
  readonly id: string
}

const aboutSchema = z.looseObject({ id: idSchema, titular: z.looseObject({ cpf: z.unknown() }).nullish().catch(null) })

function isAbout({ cpf, id }: ConsentQuery, answer: z.infer<typeof aboutSchema>): boolean {
  const titular = answer.titular?.cpf
  // A number has lost its leading zeros. A masked or incomplete CPF is not taken for another person's.
  const text = typeof titular === 'number' ? `${titular}`.padStart(11, '0') : titular
  const digits = typeof text === 'string' ? text.replace(/\D/g, '') : ''
  return answer.id === id && (digits.length !== 11 || digits === cpf)
}

const detailSchema = aboutSchema.extend({
  ...statusMembers,
  usuario: z.looseObject({ cnpj: optionalText }).nullish().catch(null),
  historico: z.unknown().optional(),
})
const entrySchema = z.looseObject({ status: z.string(), dataHora: optionalText, dataExpiracao: optionalText })
/** A longer history is not recorded in clear: it stays in the sealed detail. */
const historyEntriesMax = 200

/** One entry of `historico` without personal data. Null means a value that is not in the contract, or not a date. */
export interface ClearHistoryEntry {
  readonly status: Summary['status'] | null
  readonly since: Instant | null
}

/** Reads the entries of `historico` in the service's order: `undefined` for an entry without a status. */
export function readHistoryEntries(historico: unknown) {
  const entries: readonly unknown[] = Array.isArray(historico) ? historico : []
  return entries.map(entry => {
    const { data } = entrySchema.safeParse(entry)
    if (!data) return undefined
    const { status, dataHora, dataExpiracao } = data
    return { status, dataHora: parseIso(dataHora), dataExpiracao: parseIso(dataExpiracao) }
  })
}

/**
 * Reads a history, the oldest entry first. If an entry has no date, the service's order stays. Entries with the same
 * date follow the direction of the other dates, rising or falling. If the dates have no clear direction, an end status
 * comes last, and of the possible orders the one that ends with the status shown is taken.
 */
function readHistory(historico: unknown, shown: Summary['status']): readonly ClearHistoryEntry[] {
  const entries = readHistoryEntries(historico)
  if (entries.length > historyEntriesMax) return []
  const read = entries.map(entry => {
    // The contract has capitals: an end status in lower case is still an end.
    const { data: status = null } = statusSchema.safeParse(entry?.status.toUpperCase())
    return { status, since: entry?.dataHora ?? null }
  })
  if (read.some(entry => entry.since === null)) return read
  const dates = read.map(entry => entry.since ?? '')
  const [rises, falls] = [dates, dates.toReversed()].map(hasRise)
  const reversed = read.toReversed()
  if (rises !== falls) return moveShownEndLast((rises ? read : reversed).toSorted(byDate), shown)
  const orders = [read, reversed].map(each =>
    each.toSorted((a, b) => byDate(a, b) || Number(isEnd(a)) - Number(isEnd(b))),
  )
  return orders.find(order => order.at(-1)?.status === shown) ?? orders[0] ?? []
}

/** Moves the shown end status behind other entries with the newest date. */
function moveShownEndLast(
  entries: readonly ClearHistoryEntry[],
  shown: Summary['status'],
): readonly ClearHistoryEntry[] {
  const newest = entries.at(-1)?.since
  const at = entries.findLastIndex(entry => entry.status === shown && entry.since === newest && isEnd(entry))
  return at === -1 ? entries : [...entries.toSpliced(at, 1), ...entries.slice(at, at + 1)]
}

function hasRise(texts: readonly string[]): boolean {
  return texts.some((text, i) => i > 0 && text > (texts[i - 1] ?? ''))
}

function byDate({ since: a }: ClearHistoryEntry, { since: b }: ClearHistoryEntry): number {
  return (a ?? '').localeCompare(b ?? '')
}

function isEnd({ status }: ClearHistoryEntry): boolean {
  return status !== 'PENDENTE' && status !== 'ATIVO'
}

/** Reads the answer to operation 3; `undefined` when it has no known status, or is about another record. */
export function readConsent(text: string, query: ConsentQuery) {
  const body = parseJson(text)
  const parsed = detailSchema.safeParse(body)
  if (!parsed.success || !isAbout(query, parsed.data)) return undefined
  const { usuario, historico } = parsed.data
  // The whole answer is kept unchanged. The type describes a service that keeps its contract.
  const detail = body as Partial<ConsentimentoDetalhado> & Json
  return { summary: toSummary(parsed.data, usuario?.cnpj), history: readHistory(historico, parsed.data.status), detail }
}

/** Reads the answer to operation 5; `undefined` when it is about another record. */
export function readAwareness(text: string, query: ConsentQuery): (Partial<CienciaDetalhada> & Json) | undefined {
  const body = parseJson(text)
  const parsed = aboutSchema.safeParse(body)
  // As above.
  return parsed.success && isAbout(query, parsed.data) ? (body as Partial<CienciaDetalhada> & Json) : undefined
}

/** Reads the answer to operation 6; `undefined` when it does not say whether the subject is logged in. */
export function readLogin(text: string): { isAuthenticated: boolean; expiresAt: Instant | null } | undefined {
  const parsed = z.object({ autenticado: z.boolean(), horaExpiracao: optionalText }).safeParse(parseJson(text))
  if (!parsed.success) return undefined
  return { isAuthenticated: parsed.data.autenticado, expiresAt: parseIso(parsed.data.horaExpiracao) }
}

/** Reads the answer to operation 7; `undefined` when it holds no HTTPS address. */
export function readLoginAddress(text: string): string | undefined {
  const parsed = z.object({ url: z.string().max(4_000) }).safeParse(parseJson(text))
  const url = parsed.success && URL.parse(parsed.data.url)
  return url && url.protocol === 'https:' ? url.href : undefined
}

function toSummary(
  { status, dataHora, dataExpiracao }: z.infer<z.ZodObject<typeof statusMembers>>,
  cnpj: string | null | undefined,
): Summary {
  return { status, createdAt: parseIso(dataHora), expiresAt: parseIso(dataExpiracao), controller: toCnpj(cnpj) }
}

function toCnpj(text: string | null | undefined): string | null {
  return (typeof text === 'string' ? readCnpj(text) : undefined) ?? null
}
