import { hourMs } from '../../vocabulary/instant.ts'

/** What one notification costs besides its bytes: its event, its index entries and its row. */
const overheadBytes = 4_096

/** How many bytes may be stored of what shows no secret. It fills up evenly, to the amount of an hour. */
export class StorageQuota {
  readonly #bytesPerHour: number
  readonly #elapsedMs: () => number
  #left: number
  #at: number

  constructor(bytesPerHour: number, elapsedMs: () => number) {
    this.#bytesPerHour = bytesPerHour
    this.#elapsedMs = elapsedMs
    this.#left = bytesPerHour
    this.#at = elapsedMs()
  }

  /** Takes what a body costs; false when too little is left. */
  take(bytes: number): boolean {
    const now = this.#elapsedMs()
    // A clock that was set back refills nothing.
    const refilled = (Math.max(0, now - this.#at) / hourMs) * this.#bytesPerHour
    this.#left = Math.min(this.#bytesPerHour, this.#left + refilled)
    this.#at = now
    const cost = bytes + overheadBytes
    if (cost > this.#left) return false
    this.#left -= cost
    return true
  }
}
