import { isObject, type RecordedHeader } from './recorded-header.ts'

/** Where a stream may stand: for each region, the states that its events may have led to. */
export interface MachinePosition {
  readonly key: string
  readonly regions: readonly (readonly string[])[]
  /** Where events lead whose data does not matter, by type. */
  readonly next: Map<string, MachinePosition>
}

/** A machine's table, ready to be looked up. */
export interface CompiledMachine {
  readonly name: string
  readonly version: number
  /** The beginning of its streams' names. */
  readonly prefix: string
  readonly start: MachinePosition
  /** Says why an event may not be recorded by the command or fact that it names; `undefined` where it may. */
  judge(standing: MachinePosition, event: RecordedHeader): string | undefined
  /** Where an event leads. */
  move(standing: MachinePosition, event: RecordedHeader): MachinePosition
  /** The same states, in this version. */
  take(standing: MachinePosition): MachinePosition
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

/** The moves by state and type: maps, since a log may hold any names. */
type Moves = ReadonlyMap<string, ReadonlyMap<string, readonly CompiledMove[]>>

/** Reads a table; `undefined` for anything else. */
export function compileMachine(given: unknown): CompiledMachine | undefined {
  if (!isTable(given)) return undefined
  const { name, version, start, makes } = given
  const moves: Moves = new Map(
    Object.entries(given.moves).map(([state, of]) => [state, new Map(Object.entries(of))]),
  )
  const standings = new Map<string, MachinePosition>()
  const intern = (regions: readonly (readonly string[])[]): MachinePosition => {
    const key = regions.map(states => states.join('|')).join('&')
    const known = standings.get(key)
    if (known) return known
    const made = { key, regions, next: new Map<string, MachinePosition>() }
    standings.set(key, made)
    return made
  }
  const judged = new Map(
    Object.entries(makes).map(([cause, rules]) => [cause, Map.groupBy(rules, rule => rule.event)]),
  )
  return {
    name,
    version,
    prefix: `${name}-`,
    start: intern(start.map(state => [state])),
    judge(standing, event) {
      const rules = judged.get(event.causedBy)?.get(event.type)
      if (!rules) return `"${event.causedBy}" does not lead to "${event.type}"`
      let why: string | undefined
      for (const rule of rules) {
        why = breach(rule, standing, event)
        if (why === undefined) return undefined
      }
      return why
    },
    move(standing, event) {
      const known = standing.next.get(event.type)
      if (known) return known
      let isFixed = true
      const regions = standing.regions.map(states => {
        const after = new Set<string>()
        for (const state of states) isFixed = step(moves, state, event, after) && isFixed
        return [...after].sort()
      })
      const next = intern(regions)
      if (isFixed) standing.next.set(event.type, next)
      return next
    },
    take: ({ regions }) => intern(regions),
  }
}

/** Adds the states that an event may lead to, and reports whether they depend on its type alone. */
function step(moves: Moves, state: string, event: RecordedHeader, after: Set<string>): boolean {
  let isFixed = true
  for (let at = state; ; at = at.includes('.') ? at.slice(0, at.lastIndexOf('.')) : '') {
    for (const move of moves.get(at)?.get(event.type) ?? []) {
      if (move.if) {
        isFixed = false
        if (!has(event.data, move.if)) continue
      }
      after.add(move.to ?? state)
      if (!move.perhaps) return isFixed
    }
    if (at === '') break
  }
  after.add(state)
  return isFixed
}

/** Why a rule does not allow an event; `undefined` when it does. */
function breach(rule: CompiledRule, { regions }: MachinePosition, event: RecordedHeader): string | undefined {
  const { type, effects, anomaly } = event
  if (rule.if && !has(event.data, rule.if)) return `"${event.causedBy}" leads to another "${type}"`
  const { in: allowed } = rule
  const isThere = !allowed || regions.every(states => isIn(states, allowed, regions.length > 1))
  const needsMark = rule.anomaly === 'always' || (rule.anomaly === 'elsewhere' && !isThere)
  if (needsMark && anomaly === undefined) return `"${type}" is not marked as an anomaly`
  if (!isThere && rule.anomaly !== 'elsewhere')
    return `"${event.causedBy}" does not lead to "${type}" in this state`
  const owed = effects.find(effect => !rule.owes?.includes(effect.type))
  return owed && `"${type}" does not owe "${owed.type}"`
}

/** Reports whether one of the states is allowed, where its region is named at all. */
function isIn(states: readonly string[], allowed: readonly string[], isParallel: boolean): boolean {
  const isNamed = (state: string) => allowed.some(each => state === each || state.startsWith(`${each}.`))
  if (states.some(isNamed)) return true
  const regionOf = (state: string) => state.slice(0, state.indexOf('.') + 1)
  return isParallel && !allowed.some(each => regionOf(each) === regionOf(states[0] ?? ''))
}

function has(data: Members, members: Members): boolean {
  for (const name in members) if (data[name] !== members[name]) return false
  return true
}

function isTable(value: unknown): value is CompiledTable {
  if (!isObject(value)) return false
  const { name, version, start, moves, makes } = value
  return (
    typeof name === 'string' &&
    typeof version === 'number' &&
    areTexts(start) &&
    isObject(moves) &&
    Object.values(moves).every(of => isObject(of) && Object.values(of).every(areObjects)) &&
    isObject(makes) &&
    Object.values(makes).every(rules => areObjects(rules) && rules.every(isRule))
  )
}

function isRule({ event, in: states, if: members, owes }: Members): boolean {
  const areGood = [states, owes].every(each => each === undefined || areTexts(each))
  return typeof event === 'string' && areGood && (members === undefined || isObject(members))
}

function areObjects(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value) && value.every(isObject)
}

function areTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}
