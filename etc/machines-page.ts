import { type ChartConfig, toChartConfig } from '../src/machines/definition/chart-config.ts'
import { chartOf, regionsOf } from '../src/machines/definition/chart-rules.ts'
import type { EventCondition, Machine, MadeEvent } from '../src/machines/definition/machine.ts'
import { statesUnder, toMermaid } from '../src/machines/definition/mermaid.ts'

const introduction = `# Machines

Each stream of the log has a state machine. Only events move it: a command or fact becomes an event first, and is refused,
or recorded as unexpected, where the machine does not take its event. \`npm run machines\` writes this page from the code.

An arrow is an event that changes a state. It has its condition in brackets: a value that the event has, or the name of a
condition in the code. The box \`any\` stands for all states beside it. Where no start is drawn beside boxes, the machine is
in one state of each of them at the same time. Each of these boxes whose states name an event must take it, or the event is
refused.

A table has the events that a command may make, one or several together, and which states must take each of them, one in
each box: elsewhere the command is refused, with the words beside the states below. It leaves out boxes that take it in
each of their states. Other events that a state takes without a change are left out here. \`npx averba charts\` prints
them too, as xstate configurations in JSON: put one into \`createMachine(…)\`, and Stately's editor imports it. Its
simulator moves each box by itself, so it also takes an event that one of several boxes refuses. To run a configuration,
give xstate the condition \`reports\`:
\`({ event }, params) => Object.entries(params).every(([name, value]) => event.data?.[name] === value)\`. A condition of
another name is code, in \`src/machines/<name>\`: it needs a function of yours, and where it has parameters the event must
have those too. Several machines are printed one a line. With \`--format mermaid\` it prints these diagrams.
`

type Transition = NonNullable<ChartConfig['on']>[string][number]
type Place = ReturnType<typeof statesUnder>[number]

/** Writes docs/machines.md: each machine as a diagram, who takes its commands, and what its states mean and refuse. */
export function machinesPage(machines: readonly Machine[]): string {
  return [introduction, ...machines.map(machineSection)].join('\n')
}

function machineSection(machine: Machine): string {
  const chart = toChartConfig(machine)
  const commands = Object.entries(machine.messages.commands).flatMap(([command, made]) =>
    made.map(event => [`\`${command}\``, eventText(event), takenWhere(machine, chart, event)]),
  )
  const states = statesUnder(chart).slice(1)
  const isRefusing = states.some(({ state }) => wordsOf(state) !== '')
  const rows = states.map(({ path, state }) => [
    ...[nameOf(path), state.description],
    ...(isRefusing ? [wordsOf(state)] : []),
  ])
  return [
    `## ${chart.id}\n\n${chart.description}\n\n\`\`\`mermaid\n${toMermaid(chart)}\`\`\``,
    ...(commands.length > 0 ? [table(['command', 'event', 'taken by'], commands)] : []),
    `${table(['state', 'meaning', ...(isRefusing ? ['why it refuses'] : [])], rows)}\n`,
  ].join('\n\n')
}

/** The states that take an event, those of each region that names it. */
function takenWhere(machine: Machine, chart: ChartConfig, made: MadeEvent): string {
  const [type, asked] = typeof made === 'string' ? [made, {}] : [made.event, made.if]
  const root = chartOf(machine)
  const regions = root ? regionsOf(root).map(region => [chart.id ?? '', ...region.path]) : []
  const places = statesUnder(chart)
  const parts = regions.flatMap(region => {
    const inside = places.filter(({ path }) => isWithin(path, region))
    if (!inside.some(({ state }) => state.on?.[type])) return []
    const taking = inside.flatMap(place => {
      const conditions = conditionsOf(places, place, type, asked)
      return conditions === undefined ? [] : [{ ...place, conditions }]
    })
    // A state without a condition speaks for the states in it.
    const isSaid = ({ path }: Place) =>
      taking.some(outer => outer.conditions === '' && outer.path.length < path.length && isWithin(path, outer.path))
    const shown = taking.filter(place => !isSaid(place) && (place.conditions === '' || !place.state.states))
    const leaves = inside.filter(({ state }) => !state.states)
    const isAlways = leaves.every(leaf => conditionsOf(places, leaf, type, asked) === '')
    return isAlways ? [] : [shown.map(({ path, conditions }) => `${nameOf(path)}${conditions}`).join(' or ')]
  })
  return parts.length === 0 ? 'each state' : parts.join('; ')
}

/** What else the event must have for a state, or the states around it, to take it; `undefined` where none does. */
function conditionsOf(places: readonly Place[], { path }: Place, type: string, asked: EventCondition) {
  const around = places.filter(place => isWithin(path, place.path)).reverse()
  const transitions = around.flatMap(({ state }) => state.on?.[type] ?? [])
  const fitting = transitions.filter(each => !isAgainst(each, asked)).map(each => conditionText(each, asked))
  if (fitting.length === 0) return undefined
  return fitting.includes('') ? '' : ` [${fitting.join(' or ')}]`
}

function isAgainst({ guard }: Transition, asked: EventCondition): boolean {
  return Object.entries(guard?.params ?? {}).some(([name, value]) => name in asked && asked[name] !== value)
}

function conditionText({ guard }: Transition, asked: EventCondition): string {
  if (guard === undefined) return ''
  if (guard.type !== 'reports') return guard.type
  const more = Object.entries(guard.params ?? {}).filter(([name]) => !(name in asked))
  return more.map(([name, value]) => `${name} = ${value}`).join(' and ')
}

function eventText(made: MadeEvent): string {
  if (typeof made === 'string') return `\`${made}\``
  const conditions = Object.entries(made.if).map(([name, value]) => `${name} = ${value}`)
  return `\`${made.event}\` [${conditions.join(', ')}]`
}

function wordsOf({ meta: { refuses = {}, refusesAll } = {} }: ChartConfig): string {
  const words = [...Object.values(refuses), refusesAll].flatMap(refusal => refusal?.refused ?? [])
  return [...new Set(words)].join('; ')
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  return [headings, headings.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')
}

function nameOf(path: readonly string[]): string {
  return `\`${path.slice(1).join('.')}\``
}

function isWithin(path: readonly string[], outer: readonly string[]): boolean {
  return outer.every((key, i) => path[i] === key)
}
