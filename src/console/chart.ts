import { drawCharts, type StreamState } from '../index.ts'
import { type Html, html } from '../pages/html.ts'
import type { Page } from './page.ts'

/** A state of a chart, in the form that `drawCharts` writes. */
interface ChartNode {
  readonly id?: string
  readonly description?: string
  readonly type?: string
  readonly initial?: string
  readonly on?: Readonly<
    Record<string, readonly { readonly target?: string; readonly guard?: { readonly type: string } }[]>
  >
  readonly states?: Readonly<Record<string, ChartNode>>
}

export async function machineNames(): Promise<string[]> {
  return (await drawCharts([], 'json')).map(text => String(JSON.parse(text).id))
}

/**
 * Draws the chart of a machine as boxes within boxes, from the same definition as the diagrams of the documentation.
 * With the state of a stream, the active states are lit, and those on its path have a solid border.
 */
export async function showChart({ texts, message }: Page, machine: string, state?: StreamState): Promise<Html> {
  const root: ChartNode = JSON.parse((await drawCharts([machine], 'json'))[0] ?? '{}')
  const active = withParents(state?.states ?? [])
  const visited = withParents((state?.path ?? []).flatMap(({ states }) => states))
  const draw = (name: string, path: readonly string[], node: ChartNode): Html => {
    const key = path.join('.')
    const kind = active.has(key) ? 'active' : visited.has(key) ? 'visited' : ''
    const inner = Object.entries(node.states ?? {})
    return html`<li class="${['state', kind, node.type === 'parallel' && 'parallel'].filter(Boolean).join(' ')}">
<div><strong>${name}</strong>${active.has(key) && inner.length === 0 && html` <mark>${texts.now}</mark>`} <span class="soft">${node.description && message(node.description)}</span></div>
${transitionsOf(node)}
${inner.length > 0 && html`<ul>${inner.map(([each, child]) => draw(each, [...path, each], child))}</ul>`}</li>
`
  }
  return html`<div class="chart"><ul>${draw(machine, [], root)}</ul></div>`
}

function transitionsOf({ on = {} }: ChartNode): Html {
  const rows = Object.entries(on).flatMap(([type, all]) =>
    all.flatMap(({ target, guard }) => (target === undefined ? [] : [{ type, target, guard: guard?.type }])),
  )
  if (rows.length === 0) return html``
  const lines = rows.map(({ type, target, guard }) => {
    const when = guard !== undefined && guard !== 'reports' && html` <span class="soft">[${guard}]</span>`
    return html`<li><code>${type}</code>${when} → ${target.split('.').slice(1).join('.')}</li>`
  })
  return html`<details><summary>${rows.length} →</summary><ul class="plain">${lines}</ul></details>`
}

function withParents(states: readonly string[]): ReadonlySet<string> {
  const all = states.flatMap(state => {
    const path = state.split('.')
    return path.map((_, i) => path.slice(0, i + 1).join('.'))
  })
  return new Set(all)
}
