import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../vocabulary/message.ts'
import { leafHash } from './merkle.ts'

/** A destroyed part as a receipt names it: where it was, what its sealed bytes hashed to, and its event's leaf. */
export interface DestroyedPart {
  readonly position: number
  readonly name: string
  readonly hash: string
  readonly leaf: string
}

/** An event with the exact text that the tree has the hash of. */
export interface ProvenEvent {
  readonly position: number
  readonly leaf: string
  readonly header: string
}

/** What can be checked of a receipt without the log. */
export interface CheckedReceipt {
  readonly subject: string
  readonly requester: string
  readonly legalBasis: string
  readonly keeps: readonly string[]
  readonly erasedAt: string
  readonly destroyed: {
    readonly parts: readonly DestroyedPart[]
    readonly list: string
    readonly keys: number
    readonly indexRows: number
    readonly calls: readonly string[]
  }
  readonly completed: object | null
  readonly epochsDestroyedAt: string | null
  readonly events: readonly ProvenEvent[]
}

/** The members of a header that a receipt repeats. */
interface ReceiptHeader {
  readonly type?: unknown
  readonly position?: unknown
  readonly stream?: unknown
  readonly at?: unknown
  readonly cancels?: Json
  readonly data?: { readonly [name: string]: Json }
}

/** One line for each part: the text whose hash the event of an erasure holds. */
export function listOf(parts: readonly Pick<DestroyedPart, 'position' | 'name' | 'hash'>[]): string {
  return parts.map(({ position, name, hash: of }) => `${position} ${name} ${of}\n`).join('')
}

/**
 * Checks a receipt of an erasure against itself, without the log: the leaves are those of its events, the list of parts
 * is the one that the erasure recorded, and the receipt says what its events say. That the leaves, including those of
 * the parts, belong to the log named by `log` takes proofs of inclusion; that no later event is missing, where
 * something is null, takes the log.
 *
 * @returns what is wrong; empty when nothing is
 */
export function checkErasureReceipt(receipt: CheckedReceipt): string[] {
  const { events, destroyed } = receipt
  const faults = events
    .filter(({ leaf, header }) => leafHash(header).toString('hex') !== leaf)
    .map(({ position }) => `the leaf at ${position} is not the hash of its header`)
  const said = events.map(({ header }) => parse(header))
  const find = (type: string) => said.find(event => event.type === type)
  const [asked, erased] = [find('subject.erasureRequested'), find('subject.erased')]
  if (!asked?.data || !erased?.data) return [...faults, 'the events of the erasure are not in it']
  if (events.some(({ position }, i) => said[i]?.position !== position || said[i]?.stream !== erased.stream))
    faults.push('an event stands at another position, or is that of another subject')
  if (destroyed.parts.some(part => part.position >= Number(erased.position)))
    faults.push('a part is newer than the erasure')
  const kept = Array.isArray(erased.data.kept) ? erased.data.kept : []
  if (destroyed.parts.some(({ position, name }) => kept.includes(`${position}/${name}`)))
    faults.push('a part is among those that were kept')
  const isKeyKept = kept.length > 0
  const list = hash('sha256', listOf(destroyed.parts), 'hex')
  const expected: readonly (readonly [what: string, given: unknown, said: unknown])[] = [
    [
      'the parts are not those that the erasure recorded',
      [list, destroyed.list],
      Array(2).fill(erased.data.list),
    ],
    ['it counts other parts', destroyed.parts.length, erased.data.parts],
    ['the erasure is that of another subject', receipt.subject, erased.data.subject],
    ['the erasure is on the stream of another subject', `subject-${receipt.subject}`, erased.stream],
    ['the request names another requester', receipt.requester, asked.data.requester],
    ['the request names another legal basis', receipt.legalBasis, asked.data.legalBasis],
    ['other kinds were kept', receipt.keeps, erased.data.keeps],
    ['the erasure was at another time', receipt.erasedAt, erased.at],
    ['the key was kept where it is said to be gone, or the reverse', destroyed.keys, isKeyKept ? 0 : 1],
    ['the erasure took other rows of the index', destroyed.indexRows, erased.data.indexRows],
    ['other calls were cancelled', destroyed.calls, erased.cancels ?? []],
    [
      'it was completed otherwise',
      receipt.completed,
      completedBy(find('subject.erasureCompleted'), isKeyKept),
    ],
    [
      'the epochs were destroyed at another time, or while the key is kept',
      receipt.epochsDestroyedAt,
      (isKeyKept ? null : find('subject.epochsDestroyed')?.at) ?? null,
    ],
  ]
  const isOther = ([, given, told]: (typeof expected)[number]) => !isDeepStrictEqual(given, told)
  return [...faults, ...expected.filter(isOther).map(([what]) => what)]
}

/** While the key is kept, copies stay open without a limit. */
function completedBy(event: ReceiptHeader | undefined, isKeyKept: boolean): object | null {
  if (!event) return null
  return { ...event.data, at: event.at, ...(isKeyKept && { copiesOpenUntil: null }) }
}

function parse(header: string): ReceiptHeader {
  try {
    const said: unknown = JSON.parse(header)
    return typeof said === 'object' && said !== null ? said : {}
  } catch {
    return {}
  }
}
