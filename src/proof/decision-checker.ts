import {
  areObjects,
  beganType,
  isObject,
  logStream,
  machinesAddedType,
  type RecordedHeader,
  resumedType,
} from './recorded-header.ts'

/** The transition table of the log's own machine. It is only here: a log does not hold it. */
const logTable = {
  name: 'log',
  version: 1,
  start: ['absent'],
  moves: { absent: { [beganType]: [{ to: 'begun' }] }, begun: { [machinesAddedType]: [{}], [resumedType]: [{}] } },
  makes: {
    'log.begin': [{ event: beganType }],
    'log.addMachines': [{ event: machinesAddedType }],
    'log.resume': [{ event: resumedType }],
  },
  effects: {},
}

/** The possible states of a stream, and the machine that decided its last event; undefined before its first. */
export interface StreamState {
  machine: CompiledMachine | undefined
  states: PossibleStates | undefined
}

/**
 * Checks every decision against the transition tables in the log: a command or fact must be allowed to record its event
 * in the state that the earlier events led to.
 */
export class DecisionChecker {
  readonly #machines = new Map<string, Map<number, CompiledMachine>>()
  #last: CompiledMachine | undefined

  constructor() {
    this.#addTables([logTable])
  }

  /** Returns why a decision is not legal; `undefined` if it is. Updates the state of its stream. */
  check(event: RecordedHeader, stream: StreamState): string | undefined {
    const { name, version } = event.machine
    const machine = this.#findMachine(event.machine)
    if (!machine) return `the log has no table for version ${version} of the machine "${name}"`
    if (!event.stream.startsWith(machine.prefix)) return `the machine "${name}" decided about "${event.stream}"`
    let { states = machine.start } = stream
    // Another version of the machine has the same states, by name.
    if (stream.machine && stream.machine !== machine) states = machine.adoptStates(states)
    const violation = machine.findViolation(states, event)
    stream.states = machine.statesAfter(states, event)
    stream.machine = machine
    if (event.stream === logStream) return violation ?? this.#readTables(event)
    return violation
  }

  #findMachine({ name, version }: RecordedHeader['machine']): CompiledMachine | undefined {
    // Consecutive events often come from one machine.
    if (this.#last?.name !== name || this.#last.version !== version) this.#last = this.#machines.get(name)?.get(version)
    return this.#last
  }

  #readTables({ type, data }: RecordedHeader): string | undefined {
    if (type !== beganType && type !== machinesAddedType) return undefined
    return this.#addTables(Array.isArray(data.machines) ? data.machines : [])
  }

  #addTables(tables: readonly unknown[]): string | undefined {
    for (const table of tables) {
      const machine = compileMachine(table)
      if (!machine) return 'a table of a machine cannot be read'
      const versions = this.#machines.get(machine.name) ?? new Map<number, CompiledMachine>()
      if (versions.has(machine.version)) return `the machine "${machine.name}" has two tables of one version`
      this.#machines.set(machine.name, versions.set(machine.version, machine))
    }
    return undefined
  }
}

/** The states that a stream may be in: for each region, those that its events may have led to. */
export interface PossibleStates {
  readonly key: string
  readonly regions: readonly (readonly string[])[]
  /** The next states by event type, for types whose transitions do not depend on the data. */
  readonly next: Map<string, PossibleStates>
}

/** The transition table of a machine, prepared for lookups. */
export interface CompiledMachine {
  readonly name: string
  readonly version: number
  /** The prefix of its streams' names. */
  readonly prefix: string
  readonly start: PossibleStates
  /** Returns why the command or fact that caused an event may not record it; `undefined` when it may. */
  findViolation(current: PossibleStates, event: RecordedHeader): string | undefined
  /** Returns the states that an event leads to. */
  statesAfter(current: PossibleStates, event: RecordedHeader): PossibleStates
  /** Returns the same states as this version of the machine has them. */
  adoptStates(current: PossibleStates): PossibleStates
}

type Members = Readonly<Record<string, unknown>>

interface CompiledMove {
  readonly to?: string
  readonly if?: Members
  readonly perhaps?: boolean
}

interface CompiledEvent {
  readonly event: string
  readonly if?: Members
  readonly anomaly?: boolean
}

interface CompiledTable {
  readonly name: string
  readonly version: number
  readonly start: readonly string[]
  readonly moves: Readonly<Record<string, Readonly<Record<string, readonly CompiledMove[]>>>>
  readonly makes: Readonly<Record<string, readonly CompiledEvent[]>>
  readonly effects: Readonly<Record<string, readonly string[]>>
}

/** The transitions by state and event type. Maps, since a log may hold any names. */
type Moves = ReadonlyMap<string, ReadonlyMap<string, readonly CompiledMove[]>>

/** Compiles a transition table from a log; `undefined` when the value is not one. */
export function compileMachine(given: unknown): CompiledMachine | undefined {
  if (!isTable(given)) return undefined
  const { name, version, start, makes } = given
  const effects = new Map(Object.entries(given.effects))
  const moves: Moves = new Map(Object.entries(given.moves).map(([state, of]) => [state, new Map(Object.entries(of))]))
  const statesByKey = new Map<string, PossibleStates>()
  const intern = (regions: readonly (readonly string[])[]): PossibleStates => {
    const key = regions.map(states => states.join('|')).join('&')
    const known = statesByKey.get(key)
    if (known) return known
    const states = { key, regions, next: new Map<string, PossibleStates>() }
    statesByKey.set(key, states)
    return states
  }
  const eventsByCause = new Map(
    Object.entries(makes).map(([cause, made]) => [cause, Map.groupBy(made, ({ event }) => event)]),
  )
  const naming = start.map(state => typesNamedIn(moves, start.length > 1 ? (state.split('.')[0] ?? '') : ''))
  return {
    name,
    version,
    prefix: `${name}-`,
    start: intern(start.map(state => [state])),
    findViolation(current, event) {
      const made = eventsByCause.get(event.causedBy)?.get(event.type)
      if (!made) return `"${event.causedBy}" does not lead to "${event.type}"`
      const fitting = made.filter(each => !each.if || hasMembers(event.data, each.if))
      if (fitting.length === 0) return `"${event.causedBy}" leads to another "${event.type}"`
      if (event.anomaly === undefined && fitting.every(each => each.anomaly === true))
        return `"${event.type}" is not marked as an anomaly`
      const refused = current.regions.some(
        (states, i) => naming[i]?.has(event.type) && !states.some(state => takes(moves, state, event)),
      )
      if (refused) return `"${event.causedBy}" does not lead to "${event.type}" in this state`
      const unexpected = event.effects.find(effect => !effects.get(event.type)?.includes(effect.type))
      return unexpected && `"${event.type}" may not request the effect "${unexpected.type}"`
    },
    statesAfter(current, event) {
      const known = current.next.get(event.type)
      if (known) return known
      let isFixed = true
      const regions = current.regions.map(states => {
        const after = new Set<string>()
        for (const state of states) isFixed = addNextStates(moves, state, event, after) && isFixed
        return [...after].sort()
      })
      const next = intern(regions)
      if (isFixed) current.next.set(event.type, next)
      return next
    },
    adoptStates: ({ regions }) => intern(regions),
  }
}

/** Adds the states that an event may lead to, and returns whether they depend on its type alone. */
function addNextStates(moves: Moves, state: string, event: RecordedHeader, after: Set<string>): boolean {
  let isFixed = true
  let isTaken = false
  for (let at = state; ; at = at.includes('.') ? at.slice(0, at.lastIndexOf('.')) : '') {
    for (const move of moves.get(at)?.get(event.type) ?? []) {
      if (move.if) {
        isFixed = false
        if (!hasMembers(event.data, move.if)) continue
      }
      after.add(move.to ?? state)
      isTaken = true
      if (!move.perhaps) return isFixed
    }
    if (at === '') break
  }
  // A state that has transitions for an event takes it, or the machine would not have recorded it.
  if (!isTaken) after.add(state)
  return isFixed
}

/** The types of events that the states of a region name. */
function typesNamedIn(moves: Moves, region: string): ReadonlySet<string> {
  const own = [...moves].filter(([state]) => region === '' || state === region || state.startsWith(`${region}.`))
  return new Set(own.flatMap(([, byType]) => [...byType.keys()]))
}

/** Checks that a state may take an event: it has a transition whose condition holds, or may hold. */
function takes(moves: Moves, state: string, event: RecordedHeader): boolean {
  for (let at = state; ; at = at.includes('.') ? at.slice(0, at.lastIndexOf('.')) : '') {
    const possible = moves.get(at)?.get(event.type) ?? []
    if (possible.some(move => !move.if || hasMembers(event.data, move.if))) return true
    if (at === '') return false
  }
}

function hasMembers(data: Members, members: Members): boolean {
  for (const name in members) if (data[name] !== members[name]) return false
  return true
}

function isTable(value: unknown): value is CompiledTable {
  if (!isObject(value)) return false
  const { name, version, start, moves, makes, effects } = value
  return (
    typeof name === 'string' &&
    typeof version === 'number' &&
    areStrings(start) &&
    isObject(moves) &&
    Object.values(moves).every(of => isObject(of) && Object.values(of).every(areObjects)) &&
    isObject(makes) &&
    Object.values(makes).every(made => areObjects(made) && made.every(isMadeEvent)) &&
    isObject(effects) &&
    Object.values(effects).every(areStrings)
  )
}

function isMadeEvent({ event, if: members }: Members): boolean {
  return typeof event === 'string' && (members === undefined || isObject(members))
}

function areStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}
