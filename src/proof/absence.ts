import type { Faults } from './faults.ts'
import type { RecordedHeader } from './recorded-header.ts'

/** A part that its header names, and that is not there. */
export interface MissingPart {
  readonly position: number
  readonly name: string
  readonly owner: string
}

/** Parts that events say are gone: which ones they may be, and how many. */
interface Explanation {
  readonly kind: AbsenceKind
  covers(part: MissingPart): boolean
  /** At most so many; decreases when they come back. */
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
  readonly #explanations = new Map<string, Explanation>()

  miss(part: MissingPart): void {
    this.#missing.push(part)
  }

  /** Hears every event, and remembers those that explain an absence. */
  hear(event: RecordedHeader): void {
    const { type, stream } = event
    if (type === 'subject.erased' || type === 'retention.applied') this.#hearErased(event)
    if (stream !== 'log-main') return
    const { bundle, count, from, to } = event.data
    if (typeof bundle !== 'string' || typeof count !== 'number') return
    if (type === 'log.partsArchived') {
      const covers = ({ position }: MissingPart) => Number(from) <= position && position <= Number(to)
      this.#explanations.set(bundle, { kind: 'archived', covers, count })
    } else if (type === 'log.partsRestored') {
      const known = this.#explanations.get(bundle)
      if (known) known.count -= count
    }
  }

  /** An erasure explains all that was its owner's before it, retention the parts that it names. */
  #hearErased({ type, data, stream, position: at }: RecordedHeader): void {
    const named = new Set(Array.isArray(data.parts) ? data.parts.map(String) : [])
    const covers = ({ position, name, owner }: MissingPart) =>
      type === 'subject.erased' ? owner === stream && position < Number(at) : named.has(`${position}/${name}`)
    this.#explanations.set(`${type} ${at}`, { kind: 'erased', covers, count: Number.POSITIVE_INFINITY })
  }

  /** Counts what is explained, and names what is not. */
  judge(faults: Faults): AbsenceCounts {
    const counts = { archived: 0, erased: 0 }
    const left = [...this.#explanations.values()].map(each => ({ ...each }))
    for (const part of this.#missing) {
      const reason = left.find(each => each.count > 0 && each.covers(part))
      if (reason) {
        reason.count -= 1
        counts[reason.kind] += 1
      } else
        faults.add('parts', `the part "${part.name}" at ${part.position} is missing, and no event says why`)
    }
    return counts
  }
}
