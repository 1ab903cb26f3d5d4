import { hash } from 'node:crypto'
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

/** What of a receipt can be checked without the log. */
export interface CheckedReceipt {
  readonly subject: string
  readonly requester: string
  readonly legalBasis: string
  readonly destroyed: { readonly parts: readonly DestroyedPart[]; readonly list: string }
  readonly events: readonly ProvenEvent[]
}

/** One line for each part: what the event of an erasure has the hash of. */
export function listOf(parts: readonly Pick<DestroyedPart, 'position' | 'name' | 'hash'>[]): string {
  return parts.map(({ position, name, hash: of }) => `${position} ${name} ${of}\n`).join('')
}

/**
 * Checks a receipt of an erasure against itself, without the log: the leaves are those of its events, the list of parts is
 * the one that the erasure recorded, and the receipt says what its events say. That the leaves are those of the log is
 * for a proof of inclusion to say.
 *
 * @returns what is wrong; nothing is the good news
 */
export function checkErasureReceipt(receipt: CheckedReceipt): string[] {
  const { events, destroyed, subject, requester, legalBasis } = receipt
  const faults = events
    .filter(({ leaf, header }) => leafHash(header).toString('hex') !== leaf)
    .map(({ position }) => `the leaf at ${position} is not the hash of its header`)
  const said = events.map(({ header }) => JSON.parse(header))
  const asked = said.findLast(event => event.type === 'subject.erasureRequested')
  const erased = said.findLast(event => event.type === 'subject.erased')
  if (!asked || !erased) return [...faults, 'the events of the erasure are not in it']
  const list = hash('sha256', listOf(destroyed.parts), 'hex')
  if (list !== destroyed.list || list !== erased.data.list)
    faults.push('the parts are not those that the erasure recorded')
  if (erased.data.subject !== subject || erased.stream !== `subject-${subject}`)
    faults.push('the erasure is that of another subject')
  if (asked.data.requester !== requester || asked.data.legalBasis !== legalBasis)
    faults.push('the request names another requester or legal basis')
  if (events.some(({ position }, i) => said[i].position !== position || said[i].stream !== erased.stream))
    faults.push('an event stands at another position, or is that of another subject')
  if (destroyed.parts.some(part => part.position >= erased.position))
    faults.push('a part is newer than the erasure')
  return faults
}
