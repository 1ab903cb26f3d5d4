import type { Instant, PartAddress, RecordedEvent } from '../vocabulary/message.ts'

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

/** Returns the address of a part that an event may have; null when it has none of this name. */
export function partAddressIn({ id, parts = [] }: RecordedEvent, name: string): PartAddress | null {
  return parts.some(part => part.name === name) ? `${id}/${name}` : null
}
