import type { Faults } from './faults.ts'

/** A part that is named by its header, but is not there. */
export interface MissingPart {
  readonly position: number
  readonly name: string
  readonly owner: string
}

/** The events that explain why a part is missing. */
export const absenceTypes = ['subject.erased', 'retention.applied'] as const

/** The members of an event that may explain an absence. */
export interface ExplainingEvent {
  readonly position: unknown
  readonly stream: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** An erasure explains the absence of everything that was its owner's before it, except parts that it names as kept. */
interface ErasureSpan {
  readonly position: number
  readonly kept: ReadonlySet<string>
}

/**
 * Compares what is missing with what the log says is gone. An event that explains an absence comes after the part, so
 * it is judged at the end. Parts are named one by one, as `<position>/<name>`: none explains another.
 */
export class Absence {
  readonly #missing: MissingPart[] = []
  /** By owner, in the order of the log. */
  readonly #erasures = new Map<string, ErasureSpan[]>()
  /** The parts that retention destroyed, each with the position of the event that says so. */
  readonly #destroyed = new Map<string, number>()

  miss(part: MissingPart): void {
    this.#missing.push(part)
  }

  /** Hears every event, and remembers those that explain an absence. */
  hear(event: ExplainingEvent): void {
    switch (event.type) {
      case 'subject.erased':
        this.#hearErasure(event)
        break
      case 'retention.applied':
        for (const place of textsOf(event.data.parts)) this.#destroyed.set(place, Number(event.position))
    }
  }

  #hearErasure({ stream, position, data }: ExplainingEvent): void {
    const erasure = { position: Number(position), kept: new Set(textsOf(data.kept)) }
    const known = this.#erasures.get(stream)
    if (known) known.push(erasure)
    else this.#erasures.set(stream, [erasure])
  }

  /** The parts that retention says it destroyed, as `<position>/<name>`: none of them may be there. */
  get destroyed(): readonly string[] {
    return [...this.#destroyed.keys()]
  }

  /** Counts what is explained, and names what is not. */
  judge(faults: Faults): number {
    let erased = 0
    for (const part of this.#missing) {
      const place = `${part.position}/${part.name}`
      if (this.#isErased(part, place)) erased += 1
      else
        faults.add('parts', `the part "${part.name}" at ${part.position} is missing, and no event says why`)
    }
    return erased
  }

  #isErased(part: MissingPart, place: string): boolean {
    if (isBehind(part, this.#destroyed.get(place))) return true
    // The newest first: those that are skipped name the part, so that this takes no longer than reading them.
    const deciding = this.#erasures
      .get(part.owner)
      ?.findLast(({ position, kept }) => position <= part.position || !kept.has(place))
    return isBehind(part, deciding?.position)
  }
}

/** Reports whether an event comes after a part: no earlier one can say where it went. */
function isBehind(part: MissingPart, event: number | undefined): boolean {
  return event !== undefined && event > part.position
}

function textsOf(list: unknown): string[] {
  return Array.isArray(list) ? list.filter(item => typeof item === 'string') : []
}
