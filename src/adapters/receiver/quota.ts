import { hourMs } from '../../vocabulary/instant.ts'

/** What one notification costs besides its bytes: its event, its index entries and its row. */
const overheadBytes = 4_096

/**
 * Limits how many bytes may be stored of what shows no secret. It fills up evenly, to the amount of an hour. The
 * returned function takes what a body costs; false when too little is left.
 */
export function createQuota(bytesPerHour: number, elapsedMs: () => number): (bytes: number) => boolean {
  let left = bytesPerHour
  let at = elapsedMs()
  return bytes => {
    const now = elapsedMs()
    // A clock that was set back refills nothing.
    left = Math.min(bytesPerHour, left + (Math.max(0, now - at) / hourMs) * bytesPerHour)
    at = now
    const cost = bytes + overheadBytes
    if (cost > left) return false
    left -= cost
    return true
  }
}
