import type { ChartConfig } from './chart-config.ts'

/** A state's place: the machine's name, and the states down to it. */
type Path = readonly string[]
type ChartTransition = NonNullable<ChartConfig['on']>[string][number]

interface Arrow {
  /** The innermost state that contains both ends. */
  readonly inside: string
  readonly from: string
  readonly to: string
  readonly label: string
}

/**
 * Draws a machine as a Mermaid state diagram. An arrow is an event that changes a state, with its condition; the box
 * `any` stands for all states beside it. Mermaid has no arrows between the insides of two states: such an arrow is
 * drawn between the two, and its text names the states inside. Regions are boxes without a start beside them: with its
 * own dividers between them, Mermaid fails to lay out some charts.
 */
export function toMermaid(config: ChartConfig): string {
  const allArrows = statesUnder(config).flatMap(({ path, state }) => arrowsFrom(config, path, state))
  const arrows = Map.groupBy(allArrows, ({ inside }) => inside)
  const drawState = (path: Path, state: ChartConfig): string[] => {
    const inside = drawInside(path, state)
    const head = `state "${path.at(-1)}" as ${idOf(path)}`
    return inside.length === 0 ? [head] : [`${head} {`, ...indent(inside), '}']
  }
  const drawInside = (path: Path, { initial, states = {} }: ChartConfig): string[] => {
    const drawn = Object.entries(states).flatMap(([key, state]) => drawState([...path, key], state))
    const own = arrows.get(idOf(path)) ?? []
    const isAnyUsed = own.some(({ from }) => from === anyIn(path))
    return [
      ...drawn,
      ...(isAnyUsed ? [`state "any" as ${anyIn(path)}`] : []),
      ...(initial === undefined ? [] : [`[*] --> ${idOf([...path, initial])}`]),
      ...drawArrows(own),
    ]
  }
  return ['stateDiagram-v2', ...indent(drawInside([config.id ?? ''], config)), ''].join('\n')
}

export function statesUnder(state: ChartConfig, path: Path = [state.id ?? '']): { path: Path; state: ChartConfig }[] {
  const inside = Object.entries(state.states ?? {}).flatMap(([key, each]) => statesUnder(each, [...path, key]))
  return [{ path, state }, ...inside]
}

function arrowsFrom(root: ChartConfig, path: Path, { on = {} }: ChartConfig): Arrow[] {
  return Object.entries(on).flatMap(([type, transitions]) =>
    transitions.flatMap((transition, i) => {
      if (transition.target === undefined) return []
      const label = type + conditionOf(transition, transitions.slice(0, i))
      return toArrow(root, path, transition.target.slice(1).split('.'), label)
    }),
  )
}

function toArrow(root: ChartConfig, source: Path, target: Path, label: string): Arrow {
  const stateAt = (path: Path) => path.slice(1).reduce<ChartConfig | undefined>((at, key) => at?.states?.[key], root)
  // A transition of parallel regions into one of them changes only that region.
  if (stateAt(source)?.type && isWithin(target, source))
    return toArrow(root, target.slice(0, source.length + 1), target, label)
  const { initial } = stateAt(target) ?? {}
  if (initial !== undefined && isWithin(source, target)) return toArrow(root, source, [...target, initial], label)
  if (source.join() === target.join())
    return { inside: idOf(source.slice(0, -1)), from: idOf(source), to: idOf(target), label }
  const common = target.findIndex((key, i) => key !== source[i])
  const [outside, from, to] = [target.slice(0, common), source.slice(0, common + 1), target.slice(0, common + 1)]
  const inFrom = source.slice(from.length).map(key => ` from ${key}`)
  const inTo = target.slice(to.length).map(key => ` to ${key}`)
  return {
    inside: idOf(outside),
    from: source.length === common ? anyIn(source) : idOf(from),
    to: idOf(to),
    label: [label, ...inFrom, ...inTo].join(''),
  }
}

/** An alternative before it without a target is not drawn, so its condition is named. */
function conditionOf(transition: ChartTransition, before: readonly ChartTransition[]): string {
  const hidden = before.filter(({ target }) => target === undefined).map(other => `not ${guardText(other)}`)
  const text = guardText(transition) || hidden.join(', ') || (before.length > 0 ? 'else' : '')
  return text && ` [${text}]`
}

function guardText({ guard }: ChartTransition): string {
  const members = Object.entries(guard?.params ?? {}).map(([member, value]) => `${member} = ${value}`)
  return [...(guard?.type === 'reports' ? [] : [guard?.type]), ...members].join(', ')
}

/** Draws one arrow for all events between the same two states. */
function drawArrows(arrows: readonly Arrow[]): string[] {
  const joined = Map.groupBy(arrows, ({ from, to }) => `${from} --> ${to}`)
  return [...joined].map(([ends, same]) => `${ends} : ${[...new Set(same.map(({ label }) => label))].join('<br/>')}`)
}

function isWithin(path: Path, outer: Path): boolean {
  return outer.every((key, i) => path[i] === key)
}

function idOf(path: Path): string {
  return path.join('_')
}

function anyIn(path: Path): string {
  return `${idOf(path)}__any`
}

function indent(lines: readonly string[]): string[] {
  return lines.map(line => `  ${line}`)
}
