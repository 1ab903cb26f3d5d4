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
}

/** Messages that are decided and recorded together, and what comes to be looked up by them. */
export interface Delivery {
  readonly targets: readonly Target[]
  readonly claims?: readonly Claim[]
}

/** What the machines made of a delivery: what to append, or why one of them refuses. */
export interface Decided extends Pick<Append, 'streams' | 'events'> {
  readonly refused: string | undefined
}

/** A stream as replayed: where its machine stands, and its last event. */
interface Loaded {
  readonly state: MachineState
  readonly version: number
  readonly position: number
}

/** Asks the machines: replays each stream, and lets it decide. Reads the log only, never a view. */
export class Decisions {
  readonly #store: Store
  readonly #machines: readonly Machine[]

  constructor(store: Store, machines: readonly Machine[]) {
    this.#store = store
    this.#machines = machines
  }

  /** Lets each message be decided on the state that the messages before it lead to. */
  async decide({ targets }: Delivery): Promise<Decided> {
    const states = new Map<string, Loaded>()
    const events: Decided['events'][number][] = []
    for (const { stream, message, since } of targets) {
      const machine = this.#machineOf(stream)
      const found = states.get(stream) ?? (await this.#load(stream, machine))
      const plain: Carried = typeof message === 'function' ? message(events.length) : message
      const said = since !== undefined && found.position > since ? { ...plain, isStale: true } : plain
      const decision = machine.decide(found.state, said)
      if ('refused' in decision) return { refused: decision.refused, streams: [], events: [] }
      let { state } = found
      for (const [i, event] of decision.events.entries()) {
        state = machine.evolve(state, event)
        const { name, version } = machine
        const parts = i === 0 && said.parts ? { parts: said.parts } : {}
        events.push({ stream, event, because: said.type, machine: { name, version }, ...parts })
      }
      states.set(stream, { ...found, state })
    }
    const streams = [...states].map(([stream, { version }]) => ({ stream, expect: version }))
    return { refused: undefined, streams, events }
  }

  async #load(stream: string, machine: Machine): Promise<Loaded> {
    let state = machine.initial
    let version = 0
    let position = 0
    for (;;) {
      const page = await this.#store.read({ stream, after: position })
      for (const event of page) {
        state = machine.evolve(state, event)
        version = event.version
        position = event.position
      }
      if (page.length === 0) return { state, version, position }
    }
  }

  #machineOf(stream: string): Machine {
    const name = stream.slice(0, stream.indexOf('-'))
    const machine = this.#machines.find(each => each.name === name)
    if (!machine) throw new TypeError(`Cannot find the machine of the stream "${stream}"`)
    return machine
  }
}
