import type { Instant } from '../vocabulary/message.ts'

/**
 * Reports whether what a row shows was asked for later than what an event tells: an answer that took longer than a
 * newer one. A row that a clock dates behind the event tells of no later time.
 */
export function isOlderAnswer(
  shown: Instant | null,
  { at, data: { askedAt = at } }: { readonly at: Instant; readonly data: { readonly askedAt?: Instant } },
): boolean {
  return shown !== null && shown > askedAt && shown <= at
}
