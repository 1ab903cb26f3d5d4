import type { Faults } from './faults.ts'

/** A sealed part that a header names and the store does not have. */
export interface MissingPart {
  readonly position: number
  readonly name: string
  readonly owner: string
}

/** The types of events that explain why a part is missing. */
export const absenceTypes = ['subject.erased', 'retention.applied'] as const

/** The members of an event that are needed to explain a missing part. */
export interface ExplainingEvent {
  readonly position: unknown
  readonly stream: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** An erasure explains every missing part of its owner that is older, except the parts that it kept. */
interface Erasure {
  readonly position: number
  readonly kept: ReadonlySet<string>
}

/**
 * Compares the missing parts with the parts that the log says were destroyed. The explaining event comes after the
 * part, so the comparison happens at the end. Each part is identified as `<position>/<name>`.
 */
export class AbsenceCheck {
  readonly #missing: MissingPart[] = []
  /** By owner, in the order of the log. */
  readonly #erasures = new Map<string, Erasure[]>()
  /** The parts that retention destroyed, each with the position of the event that destroyed it. */
  readonly #destroyed = new Map<string, number>()

  addMissing(part: MissingPart): void {
    this.#missing.push(part)
  }

  /** Takes every event, and remembers those that explain a missing part. */
  observe(event: ExplainingEvent): void {
    switch (event.type) {
      case 'subject.erased':
        this.#addErasure(event)
        break
      case 'retention.applied':
        for (const part of stringsIn(event.data.parts)) this.#destroyed.set(part, Number(event.position))
    }
  }

  #addErasure({ stream, position, data }: ExplainingEvent): void {
    const erasure = { position: Number(position), kept: new Set(stringsIn(data.kept)) }
    const known = this.#erasures.get(stream)
    if (known) known.push(erasure)
    else this.#erasures.set(stream, [erasure])
  }

  /** The parts that retention destroyed, as `<position>/<name>`: the store must not have them. */
  get destroyed(): readonly string[] {
    return [...this.#destroyed.keys()]
  }

  /** Counts the missing parts that an event explains, and reports the others as faults. */
  report(faults: Faults): number {
    let erased = 0
    for (const part of this.#missing) {
      if (this.#isErased(part)) erased += 1
      else faults.add('parts', `the part "${part.name}" at ${part.position} is missing, and no event says why`)
    }
    return erased
  }

  #isErased(part: MissingPart): boolean {
    const id = `${part.position}/${part.name}`
    if (isAfter(part, this.#destroyed.get(id))) return true
    // From the newest on: a skipped erasure names the part as kept, so the search is no longer than reading the log.
    const deciding = this.#erasures
      .get(part.owner)
      ?.findLast(({ position, kept }) => position <= part.position || !kept.has(id))
    return isAfter(part, deciding?.position)
  }
}

/** Only an event after the part can explain that it is missing. */
function isAfter(part: MissingPart, event: number | undefined): boolean {
  return event !== undefined && event > part.position
}

function stringsIn(list: unknown): string[] {
  return Array.isArray(list) ? list.filter(item => typeof item === 'string') : []
}
