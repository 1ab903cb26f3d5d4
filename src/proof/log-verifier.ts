import type { PartMark } from '../vocabulary/message.ts'
import { CompactTree } from './compact-tree.ts'
import { DecisionChecker, type StreamState } from './decision-checker.ts'
import { toHex } from './encoding.ts'
import { Faults } from './faults.ts'
import { type Checkpoint, parseVerifierKey, type VerifierKey } from './note.ts'
import { beganType, logStream, parseRecorded, type RecordedHeader, resumedType } from './recorded-header.ts'

/** A sealed part that the store or the bundle has. */
export interface PresentPart {
  readonly name: string
  readonly owner: string
  /** SHA-256 of the sealed bytes, in hexadecimal. */
  readonly hash: string
  readonly bytes: number
}

/** The result of verifying a log, without its faults. */
export interface LogVerified {
  readonly events: number
  readonly parts: number
  /** Parts that are missing because their owner was erased or retention destroyed them. */
  readonly erasedParts: number
  readonly root: string
  /** The name that the log signs under since its last `log.began` or `log.resumed`. */
  readonly origin: string
}

/**
 * Verifies a log event by event, from the first: positions, times, versions, the tree against every checkpoint, the
 * parts against their headers, each decision against the transition tables in the log. It keeps no events.
 */
export class LogVerifier {
  readonly faults = new Faults()
  readonly #tree = new CompactTree()
  readonly #streams = new Map<string, StreamState & { version: number }>()
  readonly #absence = new AbsenceCheck()
  readonly #decisions = new DecisionChecker()
  readonly #checkpoints: readonly Checkpoint[]
  readonly #keys: ReadonlySet<string>
  #key: string | undefined
  #nextCheckpoint = 0
  #origin = ''
  #lastAt = ''
  #parts = 0

  /** `keys` are those that the checkpoints were verified with: the log has to name one of them, under its own name. */
  constructor(checkpoints: readonly Checkpoint[], keys: readonly VerifierKey[]) {
    this.#checkpoints = checkpoints
    this.#keys = new Set(keys.map(({ publicKey }) => toHex(publicKey)))
  }

  /** The number of events so far. */
  get size(): number {
    return this.#tree.size
  }

  /** The parts that retention destroyed, as `<position>/<name>`: the store must not have them. */
  get destroyed(): readonly string[] {
    return this.#absence.destroyed
  }

  /** Verifies the next event, with those of its parts that exist. Returns what its text says, and its leaf's hash. */
  add(text: string, parts: readonly PresentPart[]): { header: RecordedHeader | undefined; leaf: string } {
    const header = parseRecorded(text)
    if (header?.stream === logStream) this.#checkOrigin(header)
    const leaf = this.#tree.add(text)
    this.#parts += parts.length
    if (header) this.#checkHeader(header, parts)
    else this.faults.add('headers', `the text at ${this.size} is not that of an event`)
    this.#compareCheckpoints()
    return { header, leaf }
  }

  /** Returns the result, after the last event. */
  finish(): LogVerified {
    for (const { size } of this.#checkpoints.slice(this.#nextCheckpoint))
      this.faults.add('checkpoints', `a checkpoint is over ${size} events, and there are ${this.size}`)
    if (this.size === 0) this.faults.add('positions', 'there is no event')
    const erasedParts = this.#absence.report(this.faults)
    return { events: this.size, parts: this.#parts, erasedParts, root: this.#tree.root(), origin: this.#origin }
  }

  #checkHeader(header: RecordedHeader, parts: readonly PresentPart[]): void {
    const position = this.size
    const { stream, version, at } = header
    if (header.format !== undefined) this.faults.add('headers', `the header at ${position} has another format`)
    if (header.position !== position)
      this.faults.add('positions', `the event at ${position} says that it has another position`)
    if (at < this.#lastAt) this.faults.add('headers', `the time at ${position} goes back`)
    this.#lastAt = at
    const state = this.#streamState(stream)
    state.version += 1
    if (version !== state.version)
      this.faults.add('versions', `at ${position}, "${stream}" should have version ${state.version}`)
    this.#checkParts(header.parts, parts)
    this.#absence.observe(header)
    const violation = this.#decisions.check(header, state)
    if (violation !== undefined) this.faults.add('legality', `at ${position}, ${violation}`)
  }

  #streamState(stream: string): StreamState & { version: number } {
    const known = this.#streams.get(stream)
    if (known) return known
    const state = { version: 0, machine: undefined, states: undefined }
    this.#streams.set(stream, state)
    return state
  }

  #checkParts(marks: readonly PartMark[], parts: readonly PresentPart[]): void {
    if (marks.length + parts.length === 0) return
    const position = this.size
    const present = new Map(parts.map(part => [part.name, part]))
    if (present.size < parts.length) this.faults.add('parts', `a part at ${position} is there twice`)
    for (const { name, owner, hash, bytes } of marks) {
      const part = present.get(name)
      if (!part) this.#absence.addMissing({ position, name, owner })
      else if (part.owner !== owner || part.hash !== hash || part.bytes !== bytes)
        this.faults.add('parts', `the part "${name}" at ${position} is not the one that its header names`)
    }
    const named = new Set(marks.map(({ name }) => name))
    for (const { name } of parts)
      if (!named.has(name)) this.faults.add('parts', `there is a part at ${position} that its header does not name`)
  }

  /** The log names itself and its key in its first event, and again when it continues after a restore. */
  #checkOrigin({ type, data }: RecordedHeader): void {
    if (type !== beganType && type !== resumedType) return
    const position = this.size + 1
    if ((type === beganType) !== (position === 1))
      this.faults.add('origin', `the log begins at 1, and says so at ${position}`)
    const continues = data.before === this.#origin && data.size === this.size && data.root === this.#tree.root()
    if (type === resumedType && !continues)
      this.faults.add('origin', `at ${position}, the log continues another log than the one before`)
    const [origin, line] = [textIn(data.origin), textIn(data.key)]
    const key = parseVerifierKey(line)
    if (key?.name !== origin) this.faults.add('origin', `at ${position}, the log does not name its key`)
    const named = key && toHex(key.publicKey)
    if (this.#keys.size > 0 && !this.#keys.has(named ?? ''))
      this.faults.add('origin', `at ${position}, the log names another key than the one it is verified with`)
    this.#key ??= named
    // A log keeps its signing key: whoever has another one cannot continue it.
    if (named !== this.#key) this.faults.add('origin', `at ${position}, the log goes on under another key`)
    this.#origin = origin
  }

  #compareCheckpoints(): void {
    for (;;) {
      const checkpoint = this.#checkpoints[this.#nextCheckpoint]
      if (!checkpoint || checkpoint.size > this.size) return
      this.#nextCheckpoint += 1
      if (checkpoint.root !== this.#tree.root() || checkpoint.size !== this.size)
        this.faults.add('checkpoints', `the checkpoint over ${checkpoint.size} events is over other events`)
      if (checkpoint.origin !== this.#origin)
        this.faults.add('checkpoints', `the checkpoint over ${checkpoint.size} events is of another log`)
    }
  }
}

/** A sealed part that a header names and the store does not have. */
export interface MissingPart {
  readonly position: number
  readonly name: string
  readonly owner: string
}

export const absenceTypes = ['subject.erased', 'retention.applied'] as const

/** The members of an event that are needed to explain a missing part. */
export interface ExplainingEvent {
  readonly position: number
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
  observe({ type, stream, position, data }: ExplainingEvent): void {
    if (type === 'retention.applied') {
      for (const part of stringsIn(data.parts)) this.#destroyed.set(part, position)
    } else if (type === 'subject.erased') {
      const erasures = this.#erasures.get(stream) ?? []
      erasures.push({ position, kept: new Set(stringsIn(data.kept)) })
      this.#erasures.set(stream, erasures)
    }
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

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function stringsIn(list: unknown): string[] {
  return Array.isArray(list) ? list.filter(item => typeof item === 'string') : []
}
