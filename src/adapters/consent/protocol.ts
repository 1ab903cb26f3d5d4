import { z } from 'zod'
import { parseIso } from '../../vocabulary/brasilia.ts'
import { readCnpj } from '../../vocabulary/cnpj.ts'
import { parseJson } from '../../vocabulary/json.ts'
import type { Instant, Json } from '../../vocabulary/message.ts'
import { type Listing, readListing, withoutEndSlashes } from '../http/listing.ts'
import { type CienciaDetalhada, type ConsentimentoDetalhado, statusSchema } from './wire.ts'

/**
 * Writes the requests of the consent service and reads its answers: pure, the only place where its names
 * become ours. Readers ask for what they cannot do without, and keep all else as it came.
 *
 * @see document 1, sections 2 and 4
 */

/** A consent without personal data. */
export interface Summary {
  readonly status: z.infer<typeof statusSchema>
  readonly createdAt: Instant | null
  readonly expiresAt: Instant | null
  /** Null when the service gave none, or something that is not a CNPJ: that stands in the record. */
  readonly controller: string | null
}

/** One record of a list: the service's id of it, what may be said in clear, and all of it as it came. */
export interface ListRecord<T> {
  readonly id: string
  readonly summary: T
  readonly record: Json
}

/** What the service shows of an awareness record in clear. */
export type AwarenessSummary = Pick<Summary, 'createdAt' | 'controller'>

/** Where the consent service is; `/consentimento` is added here (section 1). */
export type BaseUrl = string

function address(base: BaseUrl, ...segments: string[]): URL {
  const path = segments.map(encodeURIComponent).join('/')
  return new URL(`${withoutEndSlashes(base)}/consentimento/v1/${path}`)
}

/** No redirect is followed: a host's own way out would take the CPF elsewhere. */
const asked = { headers: { accept: 'application/json' }, redirect: 'manual' } as const

/** Writes operation 1: the status stands in the path, and there is no body. */
export function writeChangeStatus(base: BaseUrl, cpf: string, id: string, status: string): Request {
  return new Request(address(base, 'consentimentos', cpf, id, 'status', status), { method: 'PUT', ...asked })
}

/** Writes operation 2, for all controllers. */
export function writeListConsents(base: BaseUrl, cpf: string): Request {
  return new Request(address(base, 'consentimentos', cpf), asked)
}

/** Writes operation 3. */
export function writeReadConsent(base: BaseUrl, cpf: string, id: string): Request {
  return new Request(address(base, 'consentimentos', cpf, id), asked)
}

/** Writes operation 4, for all controllers. */
export function writeListAwareness(base: BaseUrl, cpf: string): Request {
  return new Request(address(base, 'ciencias', cpf), asked)
}

/** Writes operation 5. */
export function writeReadAwareness(base: BaseUrl, cpf: string, id: string): Request {
  return new Request(address(base, 'ciencias', cpf, id), asked)
}

/** Writes operation 6. */
export function writeReadLogin(base: BaseUrl, cpf: string): Request {
  return new Request(address(base, 'autenticacao', cpf), asked)
}

/** Writes operation 7, with the address to return to where one is given. */
export function writeReadLoginAddress(base: BaseUrl, cpf: string, redirectUrl?: string): Request {
  const url = address(base, 'autenticacao', cpf, 'url')
  if (redirectUrl !== undefined) url.searchParams.set('redirectUrl', redirectUrl)
  return new Request(url, asked)
}

/** A dot segment would be taken for a folder in a path. */
const idSchema = z
  .string()
  .min(1)
  .max(200)
  .refine(id => id.isWellFormed() && id !== '.' && id !== '..')
const optionalText = z.string().nullish().catch(null)
const summarySchema = z.looseObject({
  id: idSchema,
  status: statusSchema,
  dataHora: optionalText,
  dataExpiracao: optionalText,
  cnpjUsuario: optionalText,
})
const awarenessSchema = z.looseObject({ id: idSchema, dataHora: optionalText, cnpjUsuario: optionalText })
const controllerSchema = z.looseObject({ cnpj: optionalText }).nullish().catch(null)

/** Reads the answer to operation 2; `undefined` when it is not a list at all. */
export function readConsents(text: string): Listing<ListRecord<Summary>> | undefined {
  return readListing(text, summarySchema, (consent, record) => {
    return { id: consent.id, summary: toSummary(consent, consent.cnpjUsuario), record }
  })
}

/** The id of a record that cannot be read; `undefined` when not even that can be. */
export function readId(record: Json): string | undefined {
  return z.object({ id: idSchema }).safeParse(record).data?.id
}

/** Reads the answer to operation 4; `undefined` when it is not a list at all. */
export function readAwarenessList(text: string): Listing<ListRecord<AwarenessSummary>> | undefined {
  return readListing(text, awarenessSchema, ({ id, dataHora, cnpjUsuario }, record) => {
    return { id, summary: { createdAt: parseIso(dataHora), controller: cnpjOf(cnpjUsuario) }, record }
  })
}

/** Reads the answer to operation 1; `undefined` when it has no known status, or is about another record. */
export function readChanged(text: string, id: string): Summary | undefined {
  const parsed = summarySchema.safeParse(parseJson(text))
  return parsed.success && parsed.data.id === id ? toSummary(parsed.data, parsed.data.cnpjUsuario) : undefined
}

/** Who and what was asked about: an answer about anyone or anything else is rejected. */
export interface ConsentQuery {
  readonly cpf: string
  readonly id: string
}

function isAbout(
  { cpf, id }: ConsentQuery,
  answer: { id: string; titular?: { cpf?: unknown } | null | undefined },
): boolean {
  const titular = answer.titular?.cpf
  // A number has lost its leading zeros. A CPF that is masked or written differently names nobody else.
  const text = typeof titular === 'number' ? `${titular}`.padStart(11, '0') : titular
  const digits = typeof text === 'string' ? text.replace(/\D/g, '') : ''
  return answer.id === id && (digits.length !== 11 || digits === cpf)
}

const titularSchema = z.looseObject({ cpf: z.unknown() }).nullish().catch(null)

const detailSchema = z.looseObject({
  id: idSchema,
  status: statusSchema,
  dataHora: optionalText,
  dataExpiracao: optionalText,
  usuario: controllerSchema,
  titular: titularSchema,
  historico: z.unknown().optional(),
})
const entrySchema = z.looseObject({ status: z.string(), dataHora: optionalText, dataExpiracao: optionalText })
/** A longer history is not taken into the log: it stays in the sealed detail alone. */
const entriesMax = 200

/**
 * One entry of `historico` without personal data: null stands for a value that is not in the contract, or is not a
 * date.
 */
export interface ClearHistoryEntry {
  readonly status: Summary['status'] | null
  readonly since: Instant | null
}

/** Reads `historico` as the service gave it, by entries: `undefined` where there is none with a status. */
export function readEntries(
  historico: unknown,
): readonly (
  | { readonly status: string; readonly dataHora: Instant | null; readonly dataExpiracao: Instant | null }
  | undefined
)[] {
  const entries: readonly unknown[] = Array.isArray(historico) ? historico : []
  return entries.map(entry => {
    const { data } = entrySchema.safeParse(entry)
    if (!data) return undefined
    const { status, dataHora, dataExpiracao } = data
    return { status, dataHora: parseIso(dataHora), dataExpiracao: parseIso(dataExpiracao) }
  })
}

/**
 * Reads a history, the oldest entry first. One that cannot be put in order stays as the service gave it. Which of two
 * entries with the same date comes first is told by the other dates: they rise or fall. Where they do neither, or both,
 * an end comes last, and of other orders the one that ends with the status that the history came with.
 */
function readHistory(historico: unknown, shown: Summary['status']): readonly ClearHistoryEntry[] {
  const entries = readEntries(historico)
  if (entries.length > entriesMax) return []
  const read = entries.map(entry => {
    // The contract has them in capitals: an end that is written differently is still an end.
    const { data: status = null } = statusSchema.safeParse(entry?.status.toUpperCase())
    return { status, since: entry?.dataHora ?? null }
  })
  if (read.some(entry => entry.since === null)) return read
  const dates = read.map(entry => entry.since ?? '')
  const [rises, falls] = [dates, dates.toReversed()].map(hasRise)
  const reversed = read.toReversed()
  if (rises !== falls) return withEndShown((rises ? read : reversed).toSorted(byDate), shown)
  const orders = [read, reversed].map(each => each.toSorted((a, b) => byDate(a, b) || endLast(a, b)))
  return orders.find(order => order.at(-1)?.status === shown) ?? orders[0] ?? []
}

/** Of entries with the newest date, the end that is shown comes last, whatever the order. */
function withEndShown(
  entries: readonly ClearHistoryEntry[],
  shown: Summary['status'],
): readonly ClearHistoryEntry[] {
  const newest = entries.at(-1)?.since
  const at = entries.findLastIndex(entry => entry.status === shown && entry.since === newest && isEnd(entry))
  return at === -1 ? entries : [...entries.toSpliced(at, 1), ...entries.slice(at, at + 1)]
}

/** Reports whether some text comes right after a smaller one. */
function hasRise(texts: readonly string[]): boolean {
  return texts.some((text, i) => i > 0 && text > (texts[i - 1] ?? ''))
}

function byDate({ since: a }: ClearHistoryEntry, { since: b }: ClearHistoryEntry): number {
  return (a ?? '').localeCompare(b ?? '')
}

function endLast(a: ClearHistoryEntry, b: ClearHistoryEntry): number {
  return Number(isEnd(a)) - Number(isEnd(b))
}

function isEnd({ status }: ClearHistoryEntry): boolean {
  return status !== 'PENDENTE' && status !== 'ATIVO'
}

/** Reads the answer to operation 3; `undefined` when it has no known status, or is about another record. */
export function readConsent(
  text: string,
  asked: ConsentQuery,
):
  | {
      summary: Summary
      history: readonly ClearHistoryEntry[]
      detail: Partial<ConsentimentoDetalhado> & Json
    }
  | undefined {
  const body = parseJson(text)
  const parsed = detailSchema.safeParse(body)
  if (!parsed.success || !isAbout(asked, parsed.data)) return undefined
  const { usuario, historico } = parsed.data
  // The whole answer is kept as it came: the type says what a service that keeps its contract sends.
  const detail = body as Partial<ConsentimentoDetalhado> & Json
  return {
    summary: toSummary(parsed.data, usuario?.cnpj),
    history: readHistory(historico, parsed.data.status),
    detail,
  }
}

/** Reads the answer to operation 5; `undefined` when it is about another record. */
export function readAwareness(
  text: string,
  asked: ConsentQuery,
): (Partial<CienciaDetalhada> & Json) | undefined {
  const body = parseJson(text)
  const parsed = z.looseObject({ id: idSchema, titular: titularSchema }).safeParse(body)
  // As above: the type says what a service that keeps its contract sends.
  return parsed.success && isAbout(asked, parsed.data)
    ? (body as Partial<CienciaDetalhada> & Json)
    : undefined
}

/** Reads the answer to operation 6; `undefined` when it does not say whether the subject is logged in. */
export function readLogin(text: string): { isAuthenticated: boolean; expiresAt: Instant | null } | undefined {
  const parsed = z
    .object({ autenticado: z.boolean(), horaExpiracao: optionalText })
    .safeParse(parseJson(text))
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
  consent: {
    status: Summary['status']
    dataHora?: string | null | undefined
    dataExpiracao?: string | null | undefined
  },
  cnpj: string | null | undefined,
): Summary {
  const { status, dataHora, dataExpiracao } = consent
  return {
    status,
    createdAt: parseIso(dataHora),
    expiresAt: parseIso(dataExpiracao),
    controller: cnpjOf(cnpj),
  }
}

function cnpjOf(text: string | null | undefined): string | null {
  return (typeof text === 'string' ? readCnpj(text) : undefined) ?? null
}
