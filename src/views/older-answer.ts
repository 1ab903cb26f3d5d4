import type { Instant } from '../vocabulary/message.ts'

/**
 * Checks that the row already shows an answer to a later request than the event's: the older answer took longer. A
 * request time after the event itself came from a wrong clock and does not count.
 */
export function isOlderAnswer(
  shown: Instant | null,
  { at, data: { askedAt = at } }: { readonly at: Instant; readonly data: { readonly askedAt?: Instant } },
): boolean {
  return shown !== null && shown > askedAt && shown <= at
}
