import { expect, test } from 'vitest'
import { toChartConfig } from '../../src/machines/definition/chart-config.ts'
import { statesUnder, toMermaid } from '../../src/machines/definition/mermaid.ts'
import { machines } from '../../src/machines/machines.ts'

const introduction = `# Machines

Each stream of the log has a state machine. Only events move it: a command or fact becomes an event first, and is refused,
or recorded as unexpected, where the machine does not take its event. \`npm run machines\` writes this page from the code.

An arrow is an event that changes a state. It has its condition in brackets: a value that the event has, or the name of a
condition in the code. The box \`any\` stands for all states beside it. Where no start is drawn beside boxes, the machine is
in one state of each of them at the same time. Each of these boxes whose states name an event must take it, or the event is
refused.

Events that a state takes without a change are left out here. \`npx averba charts\` prints them too, as xstate
configurations in JSON: put one into \`createMachine(…)\`, and Stately's editor imports it. Its simulator moves each box by
itself, so it also takes an event that one of several boxes refuses. To run a configuration, give xstate the condition
\`reports\`: \`({ event }, params) => Object.entries(params).every(([name, value]) => event.data?.[name] === value)\`. A
condition of another name is code, in \`src/machines/<name>\`: it needs a function of yours. Several machines are printed one
a line. With \`--format mermaid\` it prints these diagrams.
`

const charts = machines.map(toChartConfig)

test('docs/machines.md shows every machine', async () => {
  const sections = charts.map(chart => {
    const rows = statesUnder(chart)
      .slice(1)
      .map(({ path, state }) => `| \`${path.slice(1).join('.')}\` | ${state.description} |`)
    const table = ['| state | meaning |', '| --- | --- |', ...rows].join('\n')
    return `## ${chart.id}\n\n${chart.description}\n\n\`\`\`mermaid\n${toMermaid(chart)}\`\`\`\n\n${table}\n`
  })
  await expect([introduction, ...sections].join('\n')).toMatchFileSnapshot('../../docs/machines.md')
})

test.each(charts)('every state of $id has a description of one sentence', chart => {
  const descriptions = statesUnder(chart).map(({ path, state }) => [path.join('.'), state.description])
  expect(descriptions.filter(([, description = '']) => !/^[A-Z].+\.$/.test(description))).toEqual([])
})
