import { AverbaError } from '../vocabulary/errors.ts'
import { toChartConfig } from './definition/chart-config.ts'
import { toMermaid } from './definition/mermaid.ts'
import { machines } from './machines.ts'

const formats: Readonly<Record<string, (machine: (typeof machines)[number]) => string>> = {
  json: machine => JSON.stringify(toChartConfig(machine)),
  mermaid: machine => toMermaid(toChartConfig(machine)),
}

/** See `drawCharts` of src/index.ts. */
export function drawCharts(names: readonly string[], format: string): string[] {
  if (!Array.isArray(names))
    throw new AverbaError('INVALID_INPUT', 'Cannot draw the charts: the names of the machines are no list', {
      hint: 'Pass a list of names; [] draws all',
    })
  const draw = Object.hasOwn(formats, format) ? formats[format] : undefined
  const unknown = names.find(name => !machines.some(machine => machine.name === name))
  if (draw && unknown === undefined)
    return machines.filter(({ name }) => names.length === 0 || names.includes(name)).map(draw)
  const what = draw ? `no machine is called "${unknown?.slice(0, 40)}"` : `"${format.slice(0, 40)}" is not a format`
  const known = draw ? machines.map(({ name }) => name) : Object.keys(formats)
  throw new AverbaError('INVALID_INPUT', `Cannot draw the charts: ${what}`, {
    hint: `Choose among ${known.join(', ')}`,
  })
}
