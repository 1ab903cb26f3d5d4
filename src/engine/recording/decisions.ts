import type { Machine, MachineState } from '../../machines/definition/machine.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { GenerationalCache } from '../../runtime/generational-cache.ts'
import { damagedLogError } from '../../store/log/header.ts'
import { logPageRows } from '../../store/log/read.ts'
import type { Store } from '../../store/store.ts'
import type { Append, ExpectedStream } from '../../store/writing/append.ts'
import type { ErrorCode } from '../../vocabulary/errors.ts'
import type { DecisionInput, Event, MessageWithParts, RecordedEvent } from '../../vocabulary/message.ts'

/** A message for one stream. A function receives the number of streams that earlier messages of the request changed. */
export interface AddressedMessage {
  readonly stream: string
  readonly message: MessageWithParts | ((changed: number) => MessageWithParts)
  /** The end of the log when its data was read: it may be older than a newer event about the same thing. */
  readonly since?: number
  readonly isNew?: boolean
}

/** Messages that are decided and recorded together. The other members go with the events: see `Append`. */
export interface DecisionRequest
  extends Pick<Append, 'concerns' | 'indexEntries' | 'recent' | 'moves' | 'cancelsFrom' | 'destroys' | 'whenErased'> {
  readonly targets: readonly AddressedMessage[]
  /** Streams without a message that must not have changed since the request was made. */
  readonly preconditions?: readonly ExpectedStream[]
}

/** The machines' decision: what to append, or why a machine refuses. */
export interface DecisionResult extends Pick<Append, 'streams' | 'events'> {
  readonly refused: string | undefined
  readonly code: ErrorCode | undefined
  readonly states: ReadonlyMap<string, PendingState>
}

/** A machine's state, and events not yet applied to it: that waits until the state is needed. */
interface PendingState {
  readonly state: MachineState
  readonly pending: readonly Event[]
  /** The position of the last event before `pending` that is not `silent`. A reading from before it is stale. */
  readonly lastChangePosition: number
}

interface LoadedStream {
  readonly pendingState: PendingState
  readonly version: number
  readonly isOutdated?: boolean
}

const cachedStreamsMin = 5_000
/** A stream with more events is read without those that change no state. */
const shortRows = 100
/** A list of the service may have thousands of records. */
const targetsPerTurn = 200

/**
 * Replays streams and lets their machines decide. Reads the log only, never a view.
 *
 * Machine states are cached and may be outdated. Each decision names the version it is based on, and the append rejects
 * it when that is not the newest.
 */
export class Decisions {
  readonly #store: Store
  readonly #machines: ReadonlyMap<string, Machine>
  readonly #loaded = new GenerationalCache<string, LoadedStream>(cachedStreamsMin)

  constructor(store: Store, machines: readonly Machine[]) {
    this.#store = store
    this.#machines = new Map(machines.map(machine => [machine.name, machine]))
  }

  /** Decides the messages in order, each on the state after the previous ones. */
  async decide({ targets }: DecisionRequest): Promise<DecisionResult> {
    const states = new Map<string, PendingState>()
    const streams: DecisionResult['streams'][number][] = []
    const events: DecisionResult['events'][number][] = []
    let refused: string | undefined
    let code: ErrorCode | undefined
    for (const [i, { stream, message, since, isNew }] of targets.entries()) {
      if (i > 0 && i % targetsPerTurn === 0) await yieldToEventLoop()
      const machine = this.#findMachine(stream)
      const known = this.#loaded.get(stream)
      const isUnseen = isNew === true && !known
      const isCurrent = known ? !known.isOutdated : isUnseen
      const from = known ?? { pendingState: { state: machine.initial, pending: [], lastChangePosition: 0 }, version: 0 }
      const found = isCurrent ? from : await this.#load(stream, machine, from)
      if (!states.has(stream)) streams.push({ stream, expect: found.version, ...(isUnseen && { isNew: true }) })
      const state = applyPending(machine, states.get(stream) ?? found.pendingState)
      const sent: MessageWithParts =
        typeof message === 'function' ? message(new Set(events.map(event => event.stream)).size) : message
      const { lastChangePosition } = found.pendingState
      const marked = since !== undefined && lastChangePosition > since ? { ...sent, isStale: true } : sent
      const decision = machine.decide(state, marked)
      states.set(stream, { state, pending: [], lastChangePosition })
      if ('refused' in decision) {
        refused = decision.refused
        code = decision.code
        break
      }
      const { name, version } = machine
      for (const [i, event] of decision.events.entries()) {
        const parts = i === 0 && marked.parts ? { parts: marked.parts } : {}
        const input = i === 0 ? replayInput(marked, event) : { input: { nth: i } }
        events.push({ stream, event, causedBy: marked.type, machine: { name, version }, ...input, ...parts })
      }
      states.set(stream, { state, pending: decision.events, lastChangePosition })
    }
    return { refused, code, streams, events: refused === undefined ? events : [], states }
  }

  remember({ states }: DecisionResult, appended: readonly RecordedEvent[]): void {
    const lastChanges = new Map<string, number>()
    for (const event of appended) {
      const { stream, version, position } = event
      const pendingState = states.get(stream)
      if (!pendingState) continue
      const isSilent = this.#findMachine(stream).isSilent(event)
      const lastChangePosition = isSilent ? (lastChanges.get(stream) ?? pendingState.lastChangePosition) : position
      lastChanges.set(stream, lastChangePosition)
      this.#loaded.set(stream, { pendingState: { ...pendingState, lastChangePosition }, version })
    }
  }

  invalidate({ streams }: DecisionResult): void {
    for (const { stream } of streams) {
      const loaded = this.#loaded.get(stream)
      if (loaded) this.#loaded.set(stream, { ...loaded, isOutdated: true })
    }
  }

  /** Replays a stream from its cached state: some streams have as many events as there were calls in a day. */
  async #load(stream: string, machine: Machine, from: LoadedStream): Promise<LoadedStream> {
    let loaded: LoadedStream = {
      ...from,
      isOutdated: false,
      pendingState: { ...from.pendingState, state: applyPending(machine, from.pendingState), pending: [] },
    }
    const evolve = (page: readonly RecordedEvent[]) => {
      for (const event of page) {
        const { version, position, type } = event
        const { state: before } = loaded.pendingState
        const state = machine.skippedInReplay.includes(type) ? before : machine.evolve(before, event)
        const lastChangePosition = machine.isSilent(event) ? loaded.pendingState.lastChangePosition : position
        loaded = { pendingState: { state, pending: [], lastChangePosition }, version }
      }
      return page.length
    }
    const readOn = () => ({ stream, fromVersion: loaded.version + 1 })
    const { events, last } = await this.#store.readStream({ ...readOn(), limit: shortRows })
    if (evolve(events) === shortRows) {
      const exceptTypes = machine.isReadWhole ? [] : machine.skippedInReplay
      const longPage = () => this.#store.read({ ...readOn(), exceptTypes })
      while (evolve(await longPage()) === logPageRows) await yieldToEventLoop()
      // A version that was read later could be that of an event which the pages did not have.
      if (exceptTypes.length > 0 && last > loaded.version) loaded = { ...loaded, version: last }
    }
    if (loaded.version < last) throw damagedLogError(`The last events of "${stream}" are missing`)
    if (loaded.version > 0) this.#loaded.set(stream, loaded)
    return loaded
  }

  #findMachine(stream: string): Machine {
    const machine = this.#machines.get(stream.slice(0, stream.indexOf('-')))
    if (!machine) throw new TypeError(`Cannot find the machine of the stream "${stream}"`)
    return machine
  }
}

function replayInput({ data, isStale }: MessageWithParts, event: Event): { input?: DecisionInput } {
  if (data === event.data && !isStale) return {}
  return { input: { ...(data !== event.data && { data }), ...(isStale && { isStale: true }) } }
}

function applyPending(machine: Machine, { state, pending }: PendingState): MachineState {
  return pending.reduce((before, event) => machine.evolve(before, event), state)
}
