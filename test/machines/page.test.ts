import { expect, test } from 'vitest'
import { machinesPage } from '../../etc/machines-page.ts'
import { toChartConfig } from '../../src/machines/definition/chart-config.ts'
import { statesUnder } from '../../src/machines/definition/mermaid.ts'
import { machines } from '../../src/machines/machines.ts'

test('docs/machines.md shows every machine', async () => {
  await expect(machinesPage(machines)).toMatchFileSnapshot('../../docs/machines.md')
})

test.each(machines.map(toChartConfig))('every state of $id has a description of one sentence', chart => {
  const descriptions = statesUnder(chart).map(({ path, state }) => [path.join('.'), state.description])
  expect(descriptions.filter(([, description = '']) => !/^[A-Z].+\.$/.test(description))).toEqual([])
})
