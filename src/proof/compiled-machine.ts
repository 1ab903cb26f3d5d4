import { areObjects, isObject, type RecordedHeader } from './recorded-header.ts'

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

interface CompiledRule {
  readonly event: string
  readonly in?: readonly string[]
  readonly if?: Members
  readonly anomaly?: string
  readonly owes?: readonly string[]
}

interface CompiledTable {
  readonly name: string
  readonly version: number
  readonly start: readonly string[]
  readonly moves: Readonly<Record<string, Readonly<Record<string, readonly CompiledMove[]>>>>
  readonly makes: Readonly<Record<string, readonly CompiledRule[]>>
}

/** The transitions by state and event type. Maps, since a log may hold any names. */
type Moves = ReadonlyMap<string, ReadonlyMap<string, readonly CompiledMove[]>>

/** Compiles a transition table from a log; `undefined` when the value is not one. */
export function compileMachine(given: unknown): CompiledMachine | undefined {
  if (!isTable(given)) return undefined
  const { name, version, start, makes } = given
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
  const rulesByCause = new Map(
    Object.entries(makes).map(([cause, rules]) => [cause, Map.groupBy(rules, rule => rule.event)]),
  )
  return {
    name,
    version,
    prefix: `${name}-`,
    start: intern(start.map(state => [state])),
    findViolation(current, event) {
      const rules = rulesByCause.get(event.causedBy)?.get(event.type)
      if (!rules) return `"${event.causedBy}" does not lead to "${event.type}"`
      let violation: string | undefined
      for (const rule of rules) {
        violation = ruleViolation(rule, current, event)
        if (violation === undefined) return undefined
      }
      return violation
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
  for (let at = state; ; at = at.includes('.') ? at.slice(0, at.lastIndexOf('.')) : '') {
    for (const move of moves.get(at)?.get(event.type) ?? []) {
      if (move.if) {
        isFixed = false
        if (!hasMembers(event.data, move.if)) continue
      }
      after.add(move.to ?? state)
      if (!move.perhaps) return isFixed
    }
    if (at === '') break
  }
  after.add(state)
  return isFixed
}

/** Returns why a rule does not allow an event; `undefined` when it does. */
function ruleViolation(rule: CompiledRule, { regions }: PossibleStates, event: RecordedHeader): string | undefined {
  const { type, effects, anomaly } = event
  if (rule.if && !hasMembers(event.data, rule.if)) return `"${event.causedBy}" leads to another "${type}"`
  const { in: allowed } = rule
  const isAllowed = !allowed || regions.every(states => isStateAllowed(states, allowed, regions.length > 1))
  const needsMark = rule.anomaly === 'always' || (rule.anomaly === 'elsewhere' && !isAllowed)
  if (needsMark && anomaly === undefined) return `"${type}" is not marked as an anomaly`
  if (!isAllowed && rule.anomaly !== 'elsewhere') return `"${event.causedBy}" does not lead to "${type}" in this state`
  const unexpected = effects.find(effect => !rule.owes?.includes(effect.type))
  return unexpected && `"${type}" may not request the effect "${unexpected.type}"`
}

/** Reports whether one of the states is allowed. A parallel region that the rule does not name is always allowed. */
function isStateAllowed(states: readonly string[], allowed: readonly string[], isParallel: boolean): boolean {
  const isNamed = (state: string) => allowed.some(each => state === each || state.startsWith(`${each}.`))
  if (states.some(isNamed)) return true
  const regionOf = (state: string) => state.slice(0, state.indexOf('.') + 1)
  return isParallel && !allowed.some(each => regionOf(each) === regionOf(states[0] ?? ''))
}

function hasMembers(data: Members, members: Members): boolean {
  for (const name in members) if (data[name] !== members[name]) return false
  return true
}

function isTable(value: unknown): value is CompiledTable {
  if (!isObject(value)) return false
  const { name, version, start, moves, makes } = value
  return (
    typeof name === 'string' &&
    typeof version === 'number' &&
    areStrings(start) &&
    isObject(moves) &&
    Object.values(moves).every(of => isObject(of) && Object.values(of).every(areObjects)) &&
    isObject(makes) &&
    Object.values(makes).every(rules => areObjects(rules) && rules.every(isRule))
  )
}

function isRule({ event, in: states, if: members, owes }: Members): boolean {
  const areLists = [states, owes].every(each => each === undefined || areStrings(each))
  return typeof event === 'string' && areLists && (members === undefined || isObject(members))
}

function areStrings(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}
