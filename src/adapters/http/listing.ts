import { z } from 'zod'
import { parseJson } from '../../vocabulary/json.ts'
import type { Json } from '../../vocabulary/message.ts'

/** The items of a list, and the records in it that could not be read. */
export interface Listing<T> {
  readonly items: readonly T[]
  readonly unreadable: readonly Json[]
}

/** A longer list is rejected. */
const defaultItemsMax = 10_000

/** Reads a list record by record: an unreadable one does not hide the others. `undefined` if it is no list. */
export function readListing<S, T>(
  text: string,
  schema: z.ZodType<S>,
  read: (item: S, record: Json) => T,
  itemsMax = defaultItemsMax,
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

/** Removes the slashes at the end of an address, so that a path can be appended. */
export function trimEndSlashes(address: string): string {
  return address.replace(/\/+$/, '')
}
