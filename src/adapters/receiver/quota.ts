import { hourMs } from '../../vocabulary/instant.ts'

/** What one notification costs besides its bytes: its event, its index entries and its row. */
const overheadBytes = 4_096

interface Quota {
  /** Reports whether enough is left for what a body costs. */
  has(bytes: number): boolean
  /** Takes what a body costs; false when too little is left. */
  take(bytes: number): boolean
}

/** Limits how many bytes may be stored of what shows no secret. It fills up evenly, to the amount of an hour. */
export function createQuota(bytesPerHour: number, elapsedMs: () => number): Quota {
  let left = bytesPerHour
  let at = elapsedMs()
  const has = (bytes: number) => {
    const now = elapsedMs()
    // A clock that was set back refills nothing.
    left = Math.min(bytesPerHour, left + (Math.max(0, now - at) / hourMs) * bytesPerHour)
    at = now
    return bytes + overheadBytes <= left
  }
  return {
    has,
    take(bytes) {
      if (!has(bytes)) return false
      left -= bytes + overheadBytes
      return true
    },
  }
}
