import {
  areObjects,
  arrivedType,
  beganType,
  isObject,
  logStream,
  machinesAddedType,
  movedType,
  type RecordedHeader,
  resumedType,
} from './recorded-header.ts'

/** The transition table of the log's own machine. It is only here: a log does not hold it. */
const logTable = {
  name: 'log',
  version: 1,
  start: ['absent'],
  moves: {
    absent: { [beganType]: [{ to: 'begun' }] },
    begun: { [machinesAddedType]: [{}], [resumedType]: [{}], [movedType]: [{ to: 'moved' }] },
    moved: { [arrivedType]: [{ to: 'begun' }], [resumedType]: [{ to: 'begun' }] },
  },
  makes: {
    'log.begin': [{ event: beganType }],
    'log.addMachines': [{ event: machinesAddedType }],
    'log.resume': [{ event: resumedType }],
    'log.move': [{ event: movedType }],
    'log.arrive': [{ event: arrivedType }],
  },
  effects: {},
}

/** The possible states of a stream, and the machine that decided its last event; undefined before its first. */
export interface StreamState {
  machine: CompiledMachine | undefined
  states: PossibleStates | undefined
}

/** Checks by the tables in the log that each message might record its event in the state that the former led to. */
export class DecisionChecker {
  readonly #machines = new Map<string, Map<number, CompiledMachine>>()

  constructor() {
    this.#addTables([logTable])
  }

  /** Returns why a decision is not legal; `undefined` if it is. Updates the state of its stream. */
  check(event: RecordedHeader, stream: StreamState): string | undefined {
    const { name, version } = event.machine
    const machine = this.#machines.get(name)?.get(version)
    if (!machine) return `the log has no table for version ${version} of the machine "${name}"`
    if (!event.stream.startsWith(`${name}-`)) return `the machine "${name}" decided about "${event.stream}"`
    let { states = machine.start } = stream
    // Another version of the machine has the same states, by name.
    if (stream.machine && stream.machine !== machine) states = machine.adoptStates(states)
    const violation = machine.findViolation(states, event)
    stream.states = machine.statesAfter(states, event)
    stream.machine = machine
    if (event.stream === logStream) return violation ?? this.#readTables(event)
    return violation
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
  readonly regions: readonly (readonly string[])[]
  /** The next states by event type, for types whose transitions do not depend on the data. */
  readonly next: Map<string, PossibleStates>
}

/** The transition table of a machine, prepared for lookups. */
export type CompiledMachine = NonNullable<ReturnType<typeof compileMachine>>

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

/** Somebody else's log may have any table: it may keep no verifier busy, nor fill its memory. Ours have half of it. */
const statesMax = 50
const regionsMax = 12
const movesMax = 20
const levelsMax = 8
const stateTextMax = 100
/** How many sets of possible states are kept: far more than a machine of ours has. */
const statesKeptMax = 1_000

/** Compiles a transition table from a log; `undefined` when the value is not one, or too large. */
export function compileMachine(given: unknown) {
  if (!isTable(given)) return undefined
  const { name, version, start, makes } = given
  const effects = new Map(Object.entries(given.effects).map(([type, allowed]) => [type, new Set(allowed)]))
  const moves: Moves = new Map(Object.entries(given.moves).map(([state, of]) => [state, new Map(Object.entries(of))]))
  const statesByKey = new Map<string, PossibleStates>()
  const intern = (regions: readonly (readonly string[])[]): PossibleStates => {
    const key = regions.map(states => states.join('|')).join('&')
    const known = statesByKey.get(key)
    if (known) return known
    const states = { regions, next: new Map<string, PossibleStates>() }
    if (statesByKey.size >= statesKeptMax) statesByKey.clear()
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
    start: intern(start.map(state => [state])),
    /** Returns why the command or fact that caused an event may not record it; `undefined` when it may. */
    findViolation(current: PossibleStates, event: RecordedHeader): string | undefined {
      const made = eventsByCause.get(event.causedBy)?.get(event.type)
      if (!made) return `"${event.causedBy}" does not lead to "${event.type}"`
      const fitting = made.filter(each => fits(each, event))
      if (fitting.length === 0) return `"${event.causedBy}" leads to another "${event.type}"`
      if (event.anomaly === undefined && fitting.every(each => each.anomaly === true))
        return `"${event.type}" is not marked as an anomaly`
      const refused = current.regions.some(
        (states, i) => naming[i]?.has(event.type) && !states.some(state => takes(moves, state, event)),
      )
      if (refused) return `"${event.causedBy}" does not lead to "${event.type}" in this state`
      const unexpected = event.effects.find(effect => !effects.get(event.type)?.has(effect.type))
      return unexpected && `"${event.type}" may not request the effect "${unexpected.type}"`
    },
    statesAfter(current: PossibleStates, event: RecordedHeader): PossibleStates {
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
    /** Returns the same states as this version of the machine has them. */
    adoptStates: ({ regions }: PossibleStates) => intern(regions),
  }
}

/** The transitions that a state may take for a type of event: its own first, then those of the states around it. */
function* transitionsOf(moves: Moves, state: string, type: string): Generator<CompiledMove> {
  for (let at = state; ; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    yield* moves.get(at)?.get(type) ?? []
    if (at === '') return
  }
}

/** Adds the states that an event may lead to, and returns whether they depend on its type alone. */
function addNextStates(moves: Moves, state: string, event: RecordedHeader, after: Set<string>): boolean {
  let isFixed = true
  let isTaken = false
  for (const move of transitionsOf(moves, state, event.type)) {
    if (move.if) isFixed = false
    if (!fits(move, event)) continue
    after.add(move.to ?? state)
    isTaken = true
    if (!move.perhaps) return isFixed
  }
  // A state that has transitions for an event takes it, or the machine would not have recorded it.
  if (!isTaken) after.add(state)
  return isFixed
}

/** Checks that a state may take an event: it has a transition whose condition holds, or may hold. */
function takes(moves: Moves, state: string, event: RecordedHeader): boolean {
  for (const move of transitionsOf(moves, state, event.type)) if (fits(move, event)) return true
  return false
}

/** Checks that an event has the members that a transition or a decision requires of its data. */
function fits({ if: members }: { readonly if?: Members }, { data }: RecordedHeader): boolean {
  for (const name in members) if (data[name] !== members[name]) return false
  return true
}

function typesNamedIn(moves: Moves, region: string): ReadonlySet<string> {
  const own = [...moves].filter(([state]) => region === '' || state === region || state.startsWith(`${region}.`))
  return new Set(own.flatMap(([, byType]) => [...byType.keys()]))
}

function isTable(value: unknown): value is CompiledTable {
  if (!isObject(value)) return false
  const { name, version, start, moves, makes, effects } = value
  return (
    typeof name === 'string' &&
    typeof version === 'number' &&
    areStrings(start) &&
    start.length <= regionsMax &&
    isObject(moves) &&
    Object.values(moves).every(of => isObject(of) && Object.values(of).every(areMoves)) &&
    areStates(start, moves as CompiledTable['moves']) && // As just seen.
    isObject(makes) &&
    Object.values(makes).every(made => areObjects(made) && made.length <= statesMax && made.every(isMadeEvent)) &&
    isObject(effects) &&
    Object.values(effects).every(areStrings)
  )
}

/** Every event is compared with all possible states, and with those around each. */
function areStates(start: readonly string[], moves: CompiledTable['moves']): boolean {
  const all = new Set([...start, ...Object.keys(moves)])
  for (const of of Object.values(moves))
    for (const { to } of Object.values(of).flat()) if (to !== undefined) all.add(to)
  const isShort = (name: string) => name.length <= stateTextMax && name.split('.').length <= levelsMax
  return all.size <= statesMax && [...all].every(isShort)
}

function areMoves(value: unknown): boolean {
  const isMove = ({ to, if: members }: Members) =>
    (to === undefined || typeof to === 'string') && (members === undefined || isObject(members))
  return areObjects(value) && value.length <= movesMax && value.every(isMove)
}

function isMadeEvent({ event, if: members }: Members): boolean {
  return typeof event === 'string' && (members === undefined || isObject(members))
}

function areStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}
