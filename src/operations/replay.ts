import type { Machine, MachineState } from '../machines/definition/machine.ts'
import { machines } from '../machines/machines.ts'
import { canonicalJson } from '../proof/canonical-json.ts'
import { yieldToEventLoop } from '../runtime/event-loop.ts'
import { Snapshot } from '../store/database/snapshot.ts'
import { readFacts } from '../store/log/facts.ts'
import { readPage } from '../store/log/read.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { parseInstant } from '../vocabulary/instant.ts'
import type { Event, RecordedEvent } from '../vocabulary/message.ts'

/** Up to where to replay, and by which version of one machine, as `consent@2`. */
export interface ReplayOptions {
  /** A position, or an instant: events recorded after it are left out, and so is a decision that it cuts in two. */
  readonly until?: number | string
  /** Only this machine, by this version, also what another version decided. */
  readonly against?: string
}

/** What a replay came to. */
export interface ReplayResult {
  /** How many decisions were made again. */
  readonly decisions: number
  /** How many were made by a version of a machine that is not available, and were not repeated. */
  readonly otherVersions: number
  /** The last position that was read. */
  readonly position: number
  /** The first decision that comes out differently. */
  readonly divergence?: Divergence
}

/** A decision that comes out differently from the record: both as text, without personal data. */
export interface Divergence {
  readonly position: number
  readonly stream: string
  readonly causedBy: string
  readonly recorded: string
  readonly decided: string
}

/** A decision as it is recorded: one or more events in a row. */
interface RecordedDecision {
  readonly first: RecordedEvent
  readonly events: RecordedEvent[]
}

/**
 * Makes every recorded decision again, from the data of its command or fact and the state that the events before it
 * lead to, and compares what comes out. Refusals are not in the log, and are not replayed.
 *
 * @throws {AverbaError} `INVALID_INPUT` when `against` names a version that is not available
 */
export async function replay(
  pages: AsyncIterable<readonly RecordedEvent[]>,
  machines: readonly Machine[],
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  const run = new LogReplay(machinesFor(machines, options.against), options.against !== undefined)
  let position = 0
  for await (const page of pages) {
    for (const event of page) {
      if (isAfter(event, options.until)) {
        run.cutBefore(event)
        return run.end(position)
      }
      position = event.position
      if (run.hear(event)) return run.end(position)
    }
  }
  return run.end(position)
}

class LogReplay {
  readonly #machines: ReadonlyMap<string, Machine>
  /** Also what another version decided. */
  readonly #isAgainst: boolean
  readonly #states = new Map<string, MachineState>()
  #open: RecordedDecision | undefined
  #decisions = 0
  #otherVersions = 0
  #divergence: Divergence | undefined

  constructor(machines: ReadonlyMap<string, Machine>, isAgainst: boolean) {
    this.#machines = machines
    this.#isAgainst = isAgainst
  }

  /** Takes the next event, and reports whether a decision came out differently. */
  hear(event: RecordedEvent): boolean {
    if (this.#open && continues(this.#open, event)) {
      this.#open.events.push(event)
      return false
    }
    this.#close()
    this.#open = { first: event, events: [event] }
    return this.#divergence !== undefined
  }

  /** Drops the recording that the event continues: half of a decision cannot be compared. */
  cutBefore(event: RecordedEvent): void {
    if (this.#open && continues(this.#open, event)) this.#open = undefined
  }

  end(position: number): ReplayResult {
    if (!this.#divergence) this.#close()
    const divergence = this.#divergence
    const counts = { decisions: this.#decisions, otherVersions: this.#otherVersions }
    return { ...counts, position, ...(divergence && { divergence }) }
  }

  #close(): void {
    const recording = this.#open
    this.#open = undefined
    const machine = recording && this.#machines.get(recording.first.machine.name)
    if (!machine) return
    const { first, events } = recording
    const state = this.#states.get(first.stream) ?? machine.initial
    if (first.machine.version === machine.version || this.#isAgainst) this.#compare(machine, state, recording)
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
    const recorded = events.map(describe).join('\n')
    const decided =
      'refused' in decision ? `refused: ${decision.refused}` : decision.events.map(describe).join('\n')
    if (recorded !== decided) this.#divergence = { position, stream, causedBy, recorded, decided }
  }
}

/** Reports whether an event continues the same decision. */
function continues({ first, events }: RecordedDecision, { stream, input }: RecordedEvent): boolean {
  return first.stream === stream && input?.nth === events.length
}

/** What a machine decides of an event. */
function describe({ type, data, effects, anomaly, resolves }: Event): string {
  return canonicalJson({ type, data, effects: effects?.length ? effects : undefined, anomaly, resolves })
}

function machinesFor(machines: readonly Machine[], against: string | undefined): Map<string, Machine> {
  const chosen = machines.filter(
    ({ name, version }) => against === undefined || against === `${name}@${version}`,
  )
  if (chosen.length > 0) return new Map(chosen.map(machine => [machine.name, machine]))
  throw new AverbaError(
    'INVALID_INPUT',
    `Cannot replay against "${against}": there is no such version here`,
    {
      hint: `Use one of ${machines.map(({ name, version }) => `${name}@${version}`).join(', ')}`,
    },
  )
}

function isAfter({ position, at }: RecordedEvent, until: number | string | undefined): boolean {
  if (until === undefined) return false
  return typeof until === 'number' ? position > until : at > until
}

/**
 * Makes every recorded decision of a log again, which may be in use, and tells the first one that comes out
 * differently.
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
        const page = snapshot.run(() => readPage({}, { after }))
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

/** How to replay a log. */
export interface ReplayLogOptions extends ReplayOptions {
  readonly store: string
  readonly onProgress?: (position: number, end: number) => void
}
