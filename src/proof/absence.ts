import type { Faults } from './faults.ts'
import type { RecordedHeader } from './recorded-header.ts'

/** A part that its header names, and that is not there. */
export interface MissingPart {
  readonly position: number
  readonly name: string
  readonly owner: string
}

/** Parts that an event says were moved out: how many of those in a range of positions still are. */
interface Archived {
  readonly from: number
  readonly to: number
  count: number
}

/** Why a part may be missing. */
export type AbsenceKind = 'archived' | 'erased'

/** How many parts are missing, by what explains it. */
export type AbsenceCounts = Readonly<Record<AbsenceKind, number>>

/**
 * Holds what is missing against what the log says is gone. What explains an absence stands behind it in the log, so
 * that it is judged at the end. Another kind of event that explains one is a branch of `hear`.
 */
export class Absence {
  readonly #missing: MissingPart[] = []
  /** By the owner, where the last erasure stands: it explains all that was theirs before it. */
  readonly #erased = new Map<string, number>()
  /** The parts that retention names, as `<position>/<name>`. */
  readonly #retained = new Set<string>()
  readonly #archived = new Map<string, Archived>()

  miss(part: MissingPart): void {
    this.#missing.push(part)
  }

  /** Hears every event, and remembers those that explain an absence. */
  hear(event: RecordedHeader): void {
    const { type, stream } = event
    if (type === 'subject.erased') this.#erased.set(stream, Number(event.position))
    if (type === 'retention.applied' && Array.isArray(event.data.parts))
      for (const part of event.data.parts) this.#retained.add(String(part))
    if (stream !== 'log-main') return
    const { bundle, count, from, to } = event.data
    if (typeof bundle !== 'string' || typeof count !== 'number') return
    if (type === 'log.partsArchived')
      this.#archived.set(bundle, { from: Number(from), to: Number(to), count })
    else if (type === 'log.partsRestored') {
      const known = this.#archived.get(bundle)
      if (known) known.count -= count
    }
  }

  /** Counts what is explained, and names what is not. */
  judge(faults: Faults): AbsenceCounts {
    const counts = { archived: 0, erased: 0 }
    const ranges = new Ranges([...this.#archived.values()])
    for (const part of this.#missing) {
      if (this.#isErased(part)) counts.erased += 1
      else if (ranges.take(part.position)) counts.archived += 1
      else
        faults.add('parts', `the part "${part.name}" at ${part.position} is missing, and no event says why`)
    }
    return counts
  }

  #isErased({ position, name, owner }: MissingPart): boolean {
    return position < (this.#erased.get(owner) ?? 0) || this.#retained.has(`${position}/${name}`)
  }
}

/**
 * Gives what is missing to ranges that overlap, so that none is left without one where all could have one: of those that
 * a part may be in, the range that ends first is used up first. Each range is begun and left once.
 */
class Ranges {
  readonly #waiting: Archived[]
  /** Begun, and not used up; the one that ends first stands last. */
  readonly #begun: Archived[] = []

  constructor(ranges: readonly Archived[]) {
    this.#waiting = ranges.map(each => ({ ...each })).sort((a, b) => b.from - a.from)
  }

  /** Takes one from a range that a position is in; positions come in order. */
  take(position: number): boolean {
    for (let next = this.#waiting.at(-1); next && next.from <= position; next = this.#waiting.at(-1)) {
      this.#waiting.pop()
      const { to } = next
      const at = this.#begun.findIndex(each => each.to < to)
      this.#begun.splice(at < 0 ? this.#begun.length : at, 0, next)
    }
    for (let range = this.#begun.at(-1); range; range = this.#begun.at(-1)) {
      if (range.count > 0 && range.to >= position) {
        range.count -= 1
        return true
      }
      this.#begun.pop()
    }
    return false
  }
}
