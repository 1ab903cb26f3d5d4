import { z } from 'zod'
import { parseJson } from '../../vocabulary/json.ts'
import type { Json } from '../../vocabulary/message.ts'

/** A list, with the records in it that could not be read. */
export interface Listing<T> {
  readonly items: readonly T[]
  readonly unreadable: readonly Json[]
}

/** A longer list is rejected. */
const usualItemsMax = 10_000

/** Reads a list record by record, so that one that cannot be read does not hide the others. */
export function readListing<S, T>(
  text: string,
  schema: z.ZodType<S>,
  read: (item: S, record: Json) => T,
  itemsMax = usualItemsMax,
): Listing<T> | undefined {
  const list = z.array(z.unknown()).max(itemsMax).safeParse(parseJson(text))
  if (!list.success) return undefined
  const items: T[] = []
  const unreadable: Json[] = []
  for (const raw of list.data) {
    const item = schema.safeParse(raw)
    const record = raw as Json // It came out of JSON.parse.
    if (item.success) items.push(read(item.data, record))
    else unreadable.push(record)
  }
  return { items, unreadable }
}

/** A base address or a path, ready for what is put behind it. */
export function withoutEndSlashes(address: string): string {
  return address.replace(/\/+$/, '')
}
