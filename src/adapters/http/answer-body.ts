import { gunzipSync } from 'node:zlib'
import type { z } from 'zod'
import { type Clock, withinTime } from '../../runtime/clock.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { OversizedError } from '../../vocabulary/connection-errors.ts'
import { LateError } from '../../vocabulary/errors.ts'
import { answerBytesMax, defaultBudgetMs, type Fetch, limitsOf } from '../../vocabulary/fetch.ts'
import { parseJson, parseRecords } from '../../vocabulary/json.ts'
import type { Json, Problem } from '../../vocabulary/message.ts'

/** How much of an error is read: far more than any that a service writes. */
export const errorLengthMax = 65_536

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** Yields a body in chunks. Throws `OversizedError` when it is larger than allowed. */
export async function* limitBytes(chunks: Chunks, bytesMax: number): AsyncGenerator<Uint8Array, undefined> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > bytesMax) throw new OversizedError(`the answer is larger than ${bytesMax} bytes`)
    yield chunk
  }
}

/** Reads a whole body. Throws `OversizedError` when it is larger than allowed. */
export async function readBounded(chunks: Chunks, bytesMax: number): Promise<Buffer<ArrayBuffer>> {
  return Buffer.concat(await Array.fromAsync(limitBytes(chunks, bytesMax)))
}

/**
 * Reads answers as averba's own sockets do: whole, within the budget of the request by this clock, and within its size
 * limit. The signal aborts when the budget is exceeded: what ignores it is left alone.
 */
export function withinBudget(
  clock: Clock,
  forward: (request: Request, signal: AbortSignal) => Promise<Response>,
): Fetch {
  return async request => {
    const { budgetMs = defaultBudgetMs, bodyBytesMax = answerBytesMax } = limitsOf(request)
    const read = async ({ signal }: { readonly signal: AbortSignal }) => {
      const { body, status, headers } = await forward(request, signal)
      return new Response(body && (await readBounded(body, bodyBytesMax)), { status, headers })
    }
    return withinTime(clock, budgetMs, read).catch((error: unknown) => {
      throw error instanceof LateError ? new DOMException('', 'TimeoutError') : error
    })
  }
}

/** Unpacks a body that is packed although `identity` was asked for: the answer to a paid call is had only once. */
function unpack(bytes: Buffer<ArrayBuffer>, bytesMax: number): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax })
  } catch {
    return bytes
  }
}

/**
 * Reads a whole body as text. Throws `OversizedError` when it is larger than allowed. Tries UTF-8 before the charset of
 * the content type: servers often label UTF-8 JSON wrongly.
 */
export async function readBoundedText(chunks: Chunks, bytesMax: number, contentType: string | null): Promise<string> {
  const bytes = unpack(await readBounded(chunks, bytesMax), bytesMax)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return createDecoder(contentType).decode(bytes)
  }
}

function createDecoder(contentType: string | null): TextDecoder {
  const [, charset] = /;\s*charset="?([\w-]+)/i.exec(contentType ?? '') ?? []
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder() // The charset is unknown.
  }
}

export interface Listing<T> {
  readonly items: readonly T[]
  readonly unreadable: readonly Json[]
}

/** All records of a list are recorded at once: more would hold up the process for too long. */
const defaultItemsMax = 10_000

const charactersPerTurn = 262_144

/** Reads a list: an unreadable record hides no other. `undefined` for another text. Throws `OversizedError`. */
export async function readListing<S, T>(
  text: string,
  schema: z.ZodType<S>,
  read: (item: S, record: Json) => T,
  itemsMax = defaultItemsMax,
): Promise<Listing<T> | undefined> {
  const items: T[] = []
  const unreadable: Json[] = []
  let turnBegan = 0
  try {
    for (const { value, isAmbiguous, end } of parseRecords(text)) {
      if (items.length + unreadable.length === itemsMax)
        throw new OversizedError(`the list has more than ${itemsMax} records`)
      const item = schema.safeParse(value)
      if (item.success && !isAmbiguous) items.push(read(item.data, value))
      else unreadable.push(value)
      if (end - turnBegan < charactersPerTurn) continue
      turnBegan = end
      await yieldToEventLoop()
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  return { items, unreadable }
}

/** Removes the slashes at the end of an address, so that a path can be appended. */
export function trimEndSlashes(address: string): string {
  let end = address.length
  while (address[end - 1] === '/') end -= 1
  return address.slice(0, end)
}

const textMax = 300

const xmlMax = 10_000

/**
 * Reads an error body as a problem: RFC 9457 with extensions in `properties` or beside it (document 1, section 7), a
 * gateway's `fault` as JSON or XML, or any of their members. Masks numbers that may identify a person, and leaves out
 * `instance`, which repeats the address.
 */
export function readProblem(status: number, text: string): Problem {
  // No error body is as long, and a list may be a thousand times as long.
  const body = text.length > errorLengthMax ? {} : parseBody(text)
  const properties = objectAt(body, 'properties')
  const fault = objectAt(body, 'fault')
  const code =
    scalarAt(properties, 'code') ?? scalarAt(body, 'code') ?? scalarAt(fault, 'code') ?? scalarAt(body, 'error')
  const title = scalarAt(body, 'title') ?? scalarAt(fault, 'message') ?? scalarAt(body, 'message')
  const detail = scalarAt(body, 'detail') ?? scalarAt(fault, 'description') ?? scalarAt(body, 'error_description')
  const type = scalarAt(body, 'type')
  return {
    status,
    ...(type !== undefined && { type }),
    ...(title !== undefined && { title }),
    ...(detail !== undefined && { detail }),
    ...(code !== undefined && { code }),
  }
}

function parseBody(text: string): Record<string, unknown> {
  const parsed: unknown = parseJson(text)
  if (parsed === undefined) return { fault: parseXmlFault(text) }
  const value = Array.isArray(parsed) ? parsed[0] : parsed
  return isObject(value) ? value : {}
}

export function isXmlFault(text: string): boolean {
  return /^\s*(<\?xml[^>]*>\s*)?<(\w+:)?fault\b/.test(text.slice(0, textMax))
}

/** Reads a gateway's fault in XML: three flat texts, found by name without parsing the markup. */
function parseXmlFault(text: string): Record<string, unknown> {
  if (!isXmlFault(text)) return {}
  const members = text.slice(0, xmlMax).matchAll(/<(?:\w+:)?(code|message|description)>([^<]*)</g)
  return Object.fromEntries([...members].map(([, name = '', value = '']) => [name, value.trim()]))
}

function objectAt(value: Record<string, unknown>, name: string): Record<string, unknown> {
  const member = value[name]
  return isObject(member) ? member : {}
}

function scalarAt(value: Record<string, unknown>, name: string): string | undefined {
  const member = value[name]
  if (typeof member !== 'string' && typeof member !== 'number') return undefined
  return maskNumbers(String(member)).slice(0, textMax)
}

/** Masks every run of seven digits or more, with or without the punctuation of a CPF or CNPJ. */
export function maskNumbers(text: string): string {
  return text.replace(/\d(?:[.\-/]?\d){6,}/g, '***')
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
