import { isDeepStrictEqual } from 'node:util'
import { streamOf } from '../vocabulary/names.ts'
import { leafHashHex } from './compact-tree.ts'
import { sha256 } from './encoding.ts'
import { isObject, parseObject } from './recorded-header.ts'

/** A destroyed part in a receipt: its position and name, the hash of its sealed bytes, and its event's leaf. */
export interface DestroyedPart {
  readonly position: number
  readonly name: string
  readonly hash: string
  readonly leaf: string
}

/** An event with the exact text of its header, and the hash of that text in the tree. */
export interface ProvenEvent {
  readonly position: number
  readonly leaf: string
  readonly header: string
}

/** The members of a receipt that can be checked without the log. */
export interface CheckedReceipt {
  readonly subject: string
  readonly requester: string
  readonly legalBasis: string
  readonly keeps: readonly string[]
  readonly erasedAt: string
  readonly endsGivenUp: number
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

/** Lists parts as text, one line each: `subject.erased` holds the hash of this text. */
export function formatPartList(parts: readonly Pick<DestroyedPart, 'position' | 'name' | 'hash'>[]): string {
  return parts.map(({ position, name, hash }) => `${position} ${name} ${hash}\n`).join('')
}

/**
 * Checks an erasure receipt without the log: the leaves match its events, the list of parts is the one that the erasure
 * recorded, and its members match its events. It cannot check that the leaves belong to the log named by `log` (that
 * takes inclusion proofs), nor that a later event is missing where a member is null (that takes the log).
 *
 * @returns the faults; empty when the receipt is right
 */
export function checkErasureReceipt(receipt: CheckedReceipt): string[] {
  try {
    return findFaults(receipt)
  } catch {
    // It comes from outside, and its members may be anything.
    return ['it does not have the form of an erasure receipt']
  }
}

function findFaults({ events, destroyed, ...receipt }: CheckedReceipt): string[] {
  const faults = events
    .filter(({ leaf, header }) => leafHashHex(header) !== leaf)
    .map(({ position }) => `the leaf at ${position} is not the hash of its header`)
  const headers = events.map(({ header }) => parseObject(header) ?? {})
  const find = (type: string) => headers.find(event => event.type === type)
  const [requested, erased] = [find('subject.erasureRequested'), find('subject.erased')]
  if (!isObject(requested?.data) || !isObject(erased?.data))
    return [...faults, 'the events of the erasure are not in it']
  if (headers.some(({ position, stream }, i) => position !== events[i]?.position || stream !== erased.stream))
    faults.push('an event has another position, or belongs to another subject')
  if (destroyed.parts.some(part => part.position >= Number(erased.position)))
    faults.push('a part is newer than the erasure')
  const kept = Array.isArray(erased.data.kept) ? erased.data.kept : []
  if (destroyed.parts.some(({ position, name }) => kept.includes(`${position}/${name}`)))
    faults.push('a part is among those that were kept')
  const isKeyKept = kept.length > 0
  const list = sha256(formatPartList(destroyed.parts))
  const recorded = erased.data.list
  const completed = completionOf(find('subject.erasureCompleted'), isKeyKept)
  const epochsDestroyedAt = (isKeyKept ? null : find('subject.epochsDestroyed')?.at) ?? null
  const comparisons: readonly (readonly [fault: string, inReceipt: unknown, inLog: unknown])[] = [
    ['the parts are not those that the erasure recorded', [list, destroyed.list], [recorded, recorded]],
    ['it has another number of parts', destroyed.parts.length, erased.data.parts],
    ['the erasure is that of another subject', receipt.subject, erased.data.subject],
    ['the erasure is on the stream of another subject', streamOf('subject', receipt.subject), erased.stream],
    ['the request names another requester', receipt.requester, requested.data.requester],
    ['the request names another legal basis', receipt.legalBasis, requested.data.legalBasis],
    ['other kinds were kept', receipt.keeps, erased.data.keeps],
    ['the erasure was at another time', receipt.erasedAt, erased.at],
    ['the key was kept and not destroyed, or the reverse', destroyed.keys, isKeyKept ? 0 : 1],
    ['the erasure deleted another number of index rows', destroyed.indexRows, erased.data.indexRows],
    ['other calls were cancelled', destroyed.calls, erased.cancels ?? []],
    ['it gave up another number of ends', receipt.endsGivenUp, erased.data.endsGivenUp],
    ['its completion is not the recorded one', receipt.completed, completed],
    [
      'the epochs were destroyed at another time, or while the key is kept',
      receipt.epochsDestroyedAt,
      epochsDestroyedAt,
    ],
  ]
  const differing = comparisons.filter(([, inReceipt, inLog]) => !isDeepStrictEqual(inReceipt, inLog))
  return [...faults, ...differing.map(([fault]) => fault)]
}

/** While the key is kept, copies stay open without a limit. */
function completionOf(event: Readonly<Record<string, unknown>> | undefined, isKeyKept: boolean): object | null {
  if (!event) return null
  const data = isObject(event.data) ? event.data : {}
  return { ...data, at: event.at, ...(isKeyKept && { copiesOpenUntil: null }) }
}
