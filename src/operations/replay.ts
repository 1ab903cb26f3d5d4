import type { Machine, MachineState } from '../machines/definition/machine.ts'
import { machines } from '../machines/machines.ts'
import { canonicalJson } from '../proof/canonical-json.ts'
import { yieldToEventLoop } from '../runtime/event-loop.ts'
import { type LogPlace, openReading } from '../store/database/log-place.ts'
import { untaggedHeaders } from '../store/log/header.ts'
import { endOfLog, readPage } from '../store/log/read.ts'
import { readInstant } from '../vocabulary/brasilia.ts'
import { AverbaError } from '../vocabulary/errors.ts'
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

/**
 * Repeats every recorded decision from the data of its command or fact and the state before it, and compares the
 * results. Refusals are not in the log and are not replayed.
 *
 * @throws {AverbaError} `INVALID_INPUT` when `against` names a version that is not available
 */
export async function replay(
  pages: AsyncIterable<readonly RecordedEvent[]>,
  machines: readonly Machine[],
  { until, against }: ReplayOptions = {},
): Promise<ReplayResult> {
  const chosen = selectMachines(machines, against)
  const states = new Map<string, MachineState>()
  let [decisions, otherVersions, position] = [0, 0, 0]
  const onRead = (event: RecordedEvent) => {
    position = event.position
  }
  for await (const events of readDecisions(pages, until, onRead)) {
    const [first] = events
    const machine = chosen.get(first.machine.name)
    if (!machine) continue
    const state = states.get(first.stream) ?? machine.initial
    if (first.machine.version === machine.version || against !== undefined) {
      decisions += 1
      const divergence = compareDecision(machine, state, events)
      if (divergence) return { decisions, otherVersions, position, divergence }
    } else otherVersions += 1
    const after = events.reduce((before, event) => machine.evolve(before, event), state)
    states.set(first.stream, after)
  }
  return { decisions, otherVersions, position }
}

/** A recorded decision: one or more consecutive events. */
type RecordedDecision = [RecordedEvent, ...RecordedEvent[]]

/** Reads decisions, without one that the end cuts in two: half a decision cannot be compared. */
async function* readDecisions(
  pages: AsyncIterable<readonly RecordedEvent[]>,
  until: ReplayOptions['until'],
  onRead: (event: RecordedEvent) => void,
): AsyncGenerator<RecordedDecision> {
  let open: RecordedDecision | undefined
  for await (const page of pages) {
    for (const event of page) {
      const isContinued = open?.[0].stream === event.stream && event.input?.nth === open.length
      if (isPastEnd(event, until)) {
        if (open && !isContinued) yield open
        return
      }
      onRead(event)
      if (open && isContinued) {
        open.push(event)
        continue
      }
      if (open) yield open
      open = [event]
    }
  }
  if (open) yield open
}

function compareDecision(machine: Machine, state: MachineState, events: RecordedDecision): Divergence | undefined {
  const { causedBy, input = {}, data: own, position, stream } = events[0]
  const data = 'data' in input ? input.data : own
  const decision = machine.decide(state, { type: causedBy, data, ...(input.isStale && { isStale: true }) })
  const recorded = events.map(formatDecided).join('\n')
  const decided = 'refused' in decision ? `refused: ${decision.refused}` : decision.events.map(formatDecided).join('\n')
  return recorded === decided ? undefined : { position, stream, causedBy, recorded, decided }
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

/** See `replayLog` of src/index.ts. */
export async function replayLog(options: ReplayLogOptions): Promise<ReplayResult> {
  const { store, pool, until, onProgress, ...others } = options
  const to = typeof until === 'string' ? readInstant(until) : until
  await using reading = await openReading({ store, ...(pool && { pool }) })
  const end = await reading.read(endOfLog)
  const pages = async function* () {
    for (let after = 0; ; ) {
      const page = await reading.read(() => readPage(untaggedHeaders, { after }))
      if (page.length === 0) return
      yield page
      after = page.at(-1)?.position ?? after
      onProgress?.(after, end)
      await yieldToEventLoop()
    }
  }
  return await replay(pages(), machines, { ...others, ...(to !== undefined && { until: to }) })
}

/** Options of `replayLog`. */
export interface ReplayLogOptions extends ReplayOptions, Pick<LogPlace, 'store' | 'pool'> {
  readonly onProgress?: (position: number, end: number) => void
}
