/** What the simulated services know, by name. Written down, it lets another process go on with it. */
export type SavedMemory = Readonly<Record<string, unknown>>

/** Keeps what the simulated services know. */
export class Memory {
  readonly #kept: Record<string, object>

  constructor(saved: SavedMemory = {}) {
    this.#kept = JSON.parse(JSON.stringify(saved), readMap)
  }

  /** Nothing is kept yet. */
  get isNew(): boolean {
    return Object.keys(this.#kept).length === 0
  }

  /** Returns the object that is kept under a name, at first the given one. Its owner changes it in place. */
  keep<T extends object>(name: string, fresh: T): T {
    const kept = this.#kept[name] ?? fresh
    this.#kept[name] = kept
    return kept as T // Only one owner keeps something under a name.
  }

  /** Writes down everything, as JSON. */
  save(): SavedMemory {
    return JSON.parse(JSON.stringify(this.#kept, writeMap))
  }
}

/** JSON has no maps. */
function writeMap(_name: string, value: unknown): unknown {
  return value instanceof Map ? { entriesOfMap: [...value] } : value
}

function readMap(_name: string, value: unknown): unknown {
  const { entriesOfMap } = Object(value)
  return Array.isArray(entriesOfMap) ? new Map(entriesOfMap) : value
}
