import type { Machine, MachineState } from '../../machines/definition/machine.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { GenerationalCache } from '../../runtime/generational-cache.ts'
import type { EffectMove } from '../../store/ledger/ledger.ts'
import { logPageRows } from '../../store/log/read.ts'
import type { Store } from '../../store/store.ts'
import type { Append, ExpectedStream, IndexEntry } from '../../store/writing/append.ts'
import type { Destruction } from '../../store/writing/destruction.ts'
import type { RecentDigest } from '../../store/writing/recent-digests.ts'
import type { ErrorCode } from '../../vocabulary/errors.ts'
import type { DecisionInput, Event, MessageWithParts, RecordedEvent } from '../../vocabulary/message.ts'

/** A message for one stream. A function is told how many events the messages before it made. */
export interface AddressedMessage {
  readonly stream: string
  readonly message: MessageWithParts | ((made: number) => MessageWithParts)
  /** What it says was read with the log at this position: older than a newer event that tells of the same. */
  readonly since?: number
  /** Its id is new: there is nothing to replay. */
  readonly isNew?: boolean
}

/** Messages that are decided and recorded together, and what comes to be looked up by them. */
export interface DecisionRequest {
  readonly targets: readonly AddressedMessage[]
  /** The stream that it is about, where it may have no target: see `Append`. */
  readonly concerns?: string
  readonly claims?: readonly IndexEntry[]
  /** What nothing may have been recorded under for a while: see `Append`. */
  readonly recent?: RecentDigest
  /** An effect that is put off, parked, released or begun with them. */
  readonly moves?: EffectMove
  /** Streams without a message of their own that must still be as they were when it was made. */
  readonly preconditions?: readonly ExpectedStream[]
  /** What is destroyed with them. */
  readonly destroys?: Destruction
  /** What becomes of it where an owner was erased: see `Append`. */
  readonly whenErased?: Append['whenErased']
}

/** What the machines made of a delivery: what to append, or why one of them refuses. */
export interface DecisionResult extends Pick<Append, 'streams' | 'events'> {
  readonly refused: string | undefined
  /** The code of a refusal that has one of its own. */
  readonly code: ErrorCode | undefined
  /** Where the machines stand once it is appended. */
  readonly standings: ReadonlyMap<string, MachineStanding>
}

/** Where a machine stood, and the events it has yet to evolve by, which is put off until its state is asked for. */
interface MachineStanding {
  readonly state: MachineState
  readonly pending: readonly Event[]
  /** The position of the last event before `pending` that is not `silent`: a reading from before it is stale. */
  readonly toldAt: number
}

/** A stream as replayed: where its machine stands, and its last event. */
interface LoadedStream {
  readonly standing: MachineStanding
  readonly version: number
  readonly position: number
  /** It has gone on since: what comes after that is read before the next decision. */
  readonly isOutdated?: boolean
}

/** How many streams are remembered at least. */
const statesKept = 5_000
/** A stream with more events is read without those that change nothing. */
const shortRows = 100

/**
 * Asks the machines: replays each stream, and lets it decide. Reads the log only, never a view.
 *
 * Where machines stand is remembered, in memory only. What is remembered may be old, since other processes append
 * too: every decision names the version that it rests on, and the append refuses it when that is not the newest.
 */
export class Decisions {
  readonly #store: Store
  readonly #machines: ReadonlyMap<string, Machine>
  readonly #loaded = new GenerationalCache<string, LoadedStream>(statesKept)

  constructor(store: Store, machines: readonly Machine[]) {
    this.#store = store
    this.#machines = new Map(machines.map(machine => [machine.name, machine]))
  }

  /** Lets each message be decided on the state that the messages before it lead to. */
  async decide({ targets }: DecisionRequest): Promise<DecisionResult> {
    const standings = new Map<string, MachineStanding>()
    const streams: DecisionResult['streams'][number][] = []
    const events: DecisionResult['events'][number][] = []
    let refused: string | undefined
    let code: ErrorCode | undefined
    for (const { stream, message, since, isNew } of targets) {
      const machine = this.#machineOf(stream)
      const known = this.#loaded.get(stream)
      const isUnseen = isNew === true && !known
      const isCurrent = known ? !known.isOutdated : isUnseen
      const from = known ?? begin(machine)
      const found = isCurrent ? from : await this.#load(stream, machine, from)
      if (!standings.has(stream)) {
        streams.push({ stream, expect: found.version, ...(isUnseen && { isNew: true }) })
      }
      const state = stateOf(machine, standings.get(stream) ?? found.standing)
      const plain: MessageWithParts = typeof message === 'function' ? message(events.length) : message
      const { toldAt } = found.standing
      const said = since !== undefined && toldAt > since ? { ...plain, isStale: true } : plain
      const decision = machine.decide(state, said)
      standings.set(stream, { state, pending: [], toldAt })
      if ('refused' in decision) {
        refused = decision.refused
        code = decision.code
        break
      }
      const { name, version } = machine
      for (const [i, event] of decision.events.entries()) {
        const parts = i === 0 && said.parts ? { parts: said.parts } : {}
        const input = i === 0 ? inputOf(said, event) : { input: { nth: i } }
        events.push({ stream, event, causedBy: said.type, machine: { name, version }, ...input, ...parts })
      }
      standings.set(stream, { state, pending: decision.events, toldAt })
    }
    return { refused, code, streams, events: refused === undefined ? events : [], standings }
  }

  /** Remembers where the machines stand after an append. */
  remember({ standings }: DecisionResult, appended: readonly RecordedEvent[]): void {
    const told = new Map<string, number>()
    for (const event of appended) {
      const { stream, version, position } = event
      const standing = standings.get(stream)
      if (!standing) continue
      const isSilent = this.#machineOf(stream).isSilent(event)
      const toldAt = isSilent ? (told.get(stream) ?? standing.toldAt) : position
      told.set(stream, toldAt)
      this.#loaded.set(stream, { standing: { ...standing, toldAt }, version, position })
    }
  }

  /** Reads on, before the next decision, the streams that turned out to be newer than what was remembered. */
  invalidate({ streams }: DecisionResult): void {
    for (const { stream } of streams) {
      const loaded = this.#loaded.get(stream)
      if (loaded) this.#loaded.set(stream, { ...loaded, isOutdated: true })
    }
  }

  /** Replays a stream from where it was remembered: some have as many events as there were calls in a day. */
  async #load(stream: string, machine: Machine, from: LoadedStream): Promise<LoadedStream> {
    let loaded: LoadedStream = {
      ...from,
      isOutdated: false,
      standing: { ...from.standing, state: stateOf(machine, from.standing), pending: [] },
    }
    const readOn = async (filter: { limit: number; exceptTypes?: readonly string[] }) => {
      const page = await this.#store.read({ stream, fromVersion: loaded.version + 1, ...filter })
      for (const event of page) {
        const { version, position } = event
        const state = machine.evolve(loaded.standing.state, event)
        const toldAt = machine.isSilent(event) ? loaded.standing.toldAt : position
        loaded = { standing: { state, pending: [], toldAt }, version, position }
      }
      return page.length === filter.limit
    }
    if (await readOn({ limit: shortRows })) {
      // Its end is found first: were events added after that, the decision would rest on an old version.
      const last = await this.#store.readLast({ stream })
      while (await readOn({ limit: logPageRows, exceptTypes: machine.skippedInReplay }))
        await yieldToEventLoop()
      if (last && last.version > loaded.version)
        loaded = { ...loaded, version: last.version, position: last.position }
    }
    if (loaded.version > 0) this.#loaded.set(stream, loaded)
    return loaded
  }

  #machineOf(stream: string): Machine {
    const machine = this.#machines.get(stream.slice(0, stream.indexOf('-')))
    if (!machine) throw new TypeError(`Cannot find the machine of the stream "${stream}"`)
    return machine
  }
}

/** What replay needs of a message; nothing where the event holds the same data. */
function inputOf({ data, isStale }: MessageWithParts, event: Event): { input?: DecisionInput } {
  if (data === event.data && !isStale) return {}
  return { input: { ...(data !== event.data && { data }), ...(isStale && { isStale: true }) } }
}

/** A stream without events. */
function begin(machine: Machine): LoadedStream {
  return { standing: { state: machine.initial, pending: [], toldAt: 0 }, version: 0, position: 0 }
}

function stateOf(machine: Machine, { state, pending }: MachineStanding): MachineState {
  return pending.reduce((before, event) => machine.evolve(before, event), state)
}
