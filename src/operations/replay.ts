import type { Machine, MachineState } from '../machines/definition/machine.ts'
import { machines } from '../machines/machines.ts'
import { canonicalJson } from '../proof/canonical-json.ts'
import { yieldToEventLoop } from '../runtime/event-loop.ts'
import { Snapshot } from '../store/database/snapshot.ts'
import { readFacts } from '../store/log/facts.ts'
import { readPage } from '../store/log/read.ts'
import { upcasters } from '../store/log/upcasters.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { parseInstant } from '../vocabulary/instant.ts'
import type { Event, RecordedEvent } from '../vocabulary/message.ts'

/** Up to where to replay, and which version of a machine to use. */
export interface ReplayOptions {
  /** A position or an instant. Events recorded after it are left out, and so is a decision that it cuts in two. */
  readonly until?: number | string
  /** A machine's version, as `consent@2`: replays only this machine's streams, with this version. */
  readonly against?: string
}

/** The result of a replay. */
export interface ReplayResult {
  readonly decisions: number
  /** How many decisions were skipped because their machine version is not available. */
  readonly otherVersions: number
  readonly position: number
  readonly divergence?: Divergence
}

/** A decision that differs from the record, both as text without personal data. */
export interface Divergence {
  readonly position: number
  readonly stream: string
  readonly causedBy: string
  readonly recorded: string
  readonly decided: string
}

/** A recorded decision: one or more consecutive events. */
interface RecordedDecision {
  readonly first: RecordedEvent
  readonly events: RecordedEvent[]
}

/**
 * Repeats every recorded decision from the data of its command or fact and the state before it, and compares the
 * results. Refusals are not in the log and are not replayed.
 *
 * @throws {AverbaError} `INVALID_INPUT` when `against` names a version that is not available
 */
export async function replay(
  pages: AsyncIterable<readonly RecordedEvent[]>,
  machines: readonly Machine[],
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  const run = new LogReplay(selectMachines(machines, options.against), options.against !== undefined)
  let position = 0
  for await (const page of pages) {
    for (const event of page) {
      if (isPastEnd(event, options.until)) {
        run.dropIfContinued(event)
        return run.finish(position)
      }
      position = event.position
      if (run.addEvent(event)) return run.finish(position)
    }
  }
  return run.finish(position)
}

class LogReplay {
  readonly #machines: ReadonlyMap<string, Machine>
  readonly #includesOtherVersions: boolean
  readonly #states = new Map<string, MachineState>()
  #open: RecordedDecision | undefined
  #decisions = 0
  #otherVersions = 0
  #divergence: Divergence | undefined

  constructor(machines: ReadonlyMap<string, Machine>, isAgainst: boolean) {
    this.#machines = machines
    this.#includesOtherVersions = isAgainst
  }

  /** Adds the next event, and returns whether a decision differed. */
  addEvent(event: RecordedEvent): boolean {
    if (this.#open && continuesDecision(this.#open, event)) {
      this.#open.events.push(event)
      return false
    }
    this.#replayOpen()
    this.#open = { first: event, events: [event] }
    return this.#divergence !== undefined
  }

  /** Drops the open decision if the event continues it: half a decision cannot be compared. */
  dropIfContinued(event: RecordedEvent): void {
    if (this.#open && continuesDecision(this.#open, event)) this.#open = undefined
  }

  finish(position: number): ReplayResult {
    if (!this.#divergence) this.#replayOpen()
    const divergence = this.#divergence
    const counts = { decisions: this.#decisions, otherVersions: this.#otherVersions }
    return { ...counts, position, ...(divergence && { divergence }) }
  }

  #replayOpen(): void {
    const recording = this.#open
    this.#open = undefined
    const machine = recording && this.#machines.get(recording.first.machine.name)
    if (!machine) return
    const { first, events } = recording
    const state = this.#states.get(first.stream) ?? machine.initial
    if (first.machine.version === machine.version || this.#includesOtherVersions)
      this.#compare(machine, state, recording)
    else this.#otherVersions += 1
    this.#states.set(
      first.stream,
      events.reduce((before, event) => machine.evolve(before, event), state),
    )
  }

  #compare(machine: Machine, state: MachineState, { first, events }: RecordedDecision): void {
    this.#decisions += 1
    const { causedBy, input = {}, position, stream } = first
    const data = 'data' in input ? input.data : first.data
    const message = { type: causedBy, data, ...(input.isStale && { isStale: true }) }
    const decision = machine.decide(state, message)
    const recorded = events.map(formatDecided).join('\n')
    const decided =
      'refused' in decision ? `refused: ${decision.refused}` : decision.events.map(formatDecided).join('\n')
    if (recorded !== decided) this.#divergence = { position, stream, causedBy, recorded, decided }
  }
}

function continuesDecision({ first, events }: RecordedDecision, { stream, input }: RecordedEvent): boolean {
  return first.stream === stream && input?.nth === events.length
}

function formatDecided({ type, data, effects, anomaly, resolves }: Event): string {
  return canonicalJson({ type, data, effects: effects?.length ? effects : undefined, anomaly, resolves })
}

function selectMachines(machines: readonly Machine[], against: string | undefined): Map<string, Machine> {
  const chosen = machines.filter(({ name, version }) => against === undefined || against === `${name}@${version}`)
  if (chosen.length > 0) return new Map(chosen.map(machine => [machine.name, machine]))
  throw new AverbaError('INVALID_INPUT', `Cannot replay against "${against}": this version does not exist here`, {
    hint: `Use one of ${machines.map(({ name, version }) => `${name}@${version}`).join(', ')}`,
  })
}

function isPastEnd({ position, at }: RecordedEvent, until: number | string | undefined): boolean {
  if (until === undefined) return false
  return typeof until === 'number' ? position > until : at > until
}

/**
 * Repeats every recorded decision of a log, which may be in use, and reports the first one that differs.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export async function replayLog(options: ReplayLogOptions): Promise<ReplayResult> {
  const { store, until, onProgress, ...others } = options
  const to = typeof until === 'string' ? parseInstant(until) : until
  const snapshot = await Snapshot.open(store)
  try {
    const end = snapshot.run(readFacts).position
    const pages = async function* () {
      for (let after = 0; ; ) {
        const page = snapshot.run(() => readPage(upcasters, { after }))
        if (page.length === 0) return
        yield page
        after = page.at(-1)?.position ?? after
        onProgress?.(after, end)
        await yieldToEventLoop()
      }
    }
    return await replay(pages(), machines, { ...others, ...(to !== undefined && { until: to }) })
  } finally {
    snapshot.close()
  }
}

/** Options of `replayLog`. */
export interface ReplayLogOptions extends ReplayOptions {
  readonly store: string
  readonly onProgress?: (position: number, end: number) => void
}
