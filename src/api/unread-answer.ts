import { maskNumbers } from '../adapters/http/answer-body.ts'
import { parseJson } from '../vocabulary/json.ts'
import type { Instant, PartAddress } from '../vocabulary/message.ts'
import type { Recorded } from './events.ts'

/** The last answer to a call that was not understood. */
export interface UnreadAnswer {
  readonly at: Instant
  readonly httpStatus: number
  /** `problem`, `json`, `fault`, `html`, `empty` or `other`. */
  readonly form: string
  /** Its first 2,000 characters, long numbers masked; absent once erased, and where a validation has it. */
  readonly text?: string
  /** Where it is sealed: `subjects.reveal({ answer: part }, …)` opens it on record. */
  readonly part?: PartAddress
}

const shownMax = 2_000

export const misunderstood = ['effect.deferred', 'effect.parked', 'effect.misunderstood'] as const

/** Finds the last answer that was not understood in events of calls, the newest first. */
export async function findUnreadAnswer(
  events: AsyncIterable<Recorded<(typeof misunderstood)[number]>> | Iterable<Recorded<(typeof misunderstood)[number]>>,
  open: (address: PartAddress) => Promise<unknown>,
): Promise<UnreadAnswer | undefined> {
  let newest: UnreadAnswer | undefined
  for await (const { id, at, data, parts } of events) {
    if (!('unread' in data) || !data.unread) continue
    newest ??= { at, ...data.unread }
    // Of several in a row, the text of the first is kept.
    if (!parts?.some(({ name }) => name === 'answer')) continue
    const part = `${id}/answer`
    const text = await open(part)
    return { ...newest, ...(typeof text === 'string' && { text: maskNumbers(text.slice(0, shownMax)), part }) }
  }
  return newest
}

const namesMax = 300

/** What anybody may see of an answer: its length, and in JSON the names of its members. A value may tell of people. */
export function outlineOf(text: string): string {
  const names = new Set<string>()
  JSON.stringify(parseJson(text), (name, value) => {
    if (/^[a-z_]\w{0,39}$/.test(name)) names.add(name)
    return value
  })
  const members = names.size > 0 && `with the members "${[...names].join(', ').slice(0, namesMax)}"`
  return [`${text.length} characters`, members].filter(Boolean).join(', ')
}
