import { AverbaError } from '../vocabulary/errors.ts'
import type { Json, PartAddress } from '../vocabulary/message.ts'

/** Opens a part. */
export type Open = (address: PartAddress) => Promise<Json | undefined>

/** Reports whether a part did not open because it, or its key, is not what was stored. */
export function isDamage(error: unknown): boolean {
  return error instanceof AverbaError && (error.code === 'CORRUPT' || error.code === 'KEYS_MISMATCH')
}
