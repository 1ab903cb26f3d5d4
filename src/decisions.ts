import type { Machine, MachineState } from './machines/machine.ts'
import type { Carried } from './message.ts'
import type { Append, Claim } from './store/append.ts'
import type { Store } from './store/store.ts'

/** A message for one stream. A function is told how many events the messages before it made. */
export interface Target {
  readonly stream: string
  readonly message: Carried | ((made: number) => Carried)
  /** What it says was read with the log at this position: older than a newer event of the stream. */
  readonly since?: number
  /** Its id was made just now: there is nothing to replay. */
  readonly isNew?: boolean
}

/** Messages that are decided and recorded together, and what comes to be looked up by them. */
export interface Delivery {
  readonly targets: readonly Target[]
  readonly claims?: readonly Claim[]
}

/** What the machines made of a delivery: what to append, or why one of them refuses. */
export interface Decided extends Pick<Append, 'streams' | 'events'> {
  readonly refused: string | undefined
  /** Where the machines stand once it is appended. */
  readonly states: ReadonlyMap<string, MachineState>
}

/** A stream as replayed: where its machine stands, and its last event. */
interface Loaded {
  readonly state: MachineState
  readonly version: number
  readonly position: number
}

const statesMax = 10_000

/**
 * Asks the machines: replays each stream, and lets it decide. Reads the log only, never a view.
 *
 * Where machines stand is remembered, in memory only. What is remembered may be old, since other processes append
 * too: every decision names the version that it rests on, and the append refuses it when that is not the newest.
 */
export class Decisions {
  readonly #store: Store
  readonly #machines: ReadonlyMap<string, Machine>
  readonly #loaded = new Map<string, Loaded>()

  constructor(store: Store, machines: readonly Machine[]) {
    this.#store = store
    this.#machines = new Map(machines.map(machine => [machine.name, machine]))
  }

  /** Lets each message be decided on the state that the messages before it lead to. */
  async decide({ targets }: Delivery): Promise<Decided> {
    const states = new Map<string, MachineState>()
    const streams: Decided['streams'][number][] = []
    const events: Decided['events'][number][] = []
    let refused: string | undefined
    for (const { stream, message, since, isNew } of targets) {
      const machine = this.#machineOf(stream)
      const found = this.#loaded.get(stream) ?? (isNew ? begin(machine) : await this.#load(stream, machine))
      if (!states.has(stream)) streams.push({ stream, expect: found.version })
      let state = states.get(stream) ?? found.state
      const plain: Carried = typeof message === 'function' ? message(events.length) : message
      const said = since !== undefined && found.position > since ? { ...plain, isStale: true } : plain
      const decision = machine.decide(state, said)
      states.set(stream, state)
      if ('refused' in decision) {
        refused = decision.refused
        break
      }
      for (const [i, event] of decision.events.entries()) {
        state = machine.evolve(state, event)
        const { name, version } = machine
        const parts = i === 0 && said.parts ? { parts: said.parts } : {}
        events.push({ stream, event, because: said.type, machine: { name, version }, ...parts })
      }
      states.set(stream, state)
    }
    return { refused, streams, events: refused === undefined ? events : [], states }
  }

  /** Remembers where the machines stand after an append. */
  remember(
    { states }: Decided,
    appended: readonly { stream: string; version: number; position: number }[],
  ): void {
    if (this.#loaded.size > statesMax) this.#loaded.clear()
    for (const { stream, version, position } of appended) {
      const state = states.get(stream)
      if (state) this.#loaded.set(stream, { state, version, position })
    }
  }

  /** Forgets streams that turned out to be newer than what was remembered. */
  forget({ streams }: Decided): void {
    for (const { stream } of streams) this.#loaded.delete(stream)
  }

  async #load(stream: string, machine: Machine): Promise<Loaded> {
    let loaded = begin(machine)
    for (;;) {
      const page = await this.#store.read({ stream, after: loaded.position })
      for (const event of page) {
        const { version, position } = event
        loaded = { state: machine.evolve(loaded.state, event), version, position }
      }
      if (page.length > 0) continue
      if (loaded.version > 0) this.#loaded.set(stream, loaded)
      return loaded
    }
  }

  #machineOf(stream: string): Machine {
    const machine = this.#machines.get(stream.slice(0, stream.indexOf('-')))
    if (!machine) throw new TypeError(`Cannot find the machine of the stream "${stream}"`)
    return machine
  }
}

/** A stream without events. */
function begin(machine: Machine): Loaded {
  return { state: machine.initial, version: 0, position: 0 }
}
