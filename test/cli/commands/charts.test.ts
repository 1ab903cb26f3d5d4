import { expect, test } from 'vitest'
import { machines } from '../../../src/machines/machines.ts'
import { averba } from '../../support/command-line.ts'

test('averba charts prints one machine on each line, and --format mermaid the named one as a diagram', async () => {
  const all = await averba('charts')
  expect(all.code).toBe(0)
  const lines = all.out.trimEnd().split('\n')
  expect(lines.map(line => JSON.parse(line).id)).toEqual(machines.map(({ name }) => name))
  const one = await averba('charts', 'token', '--format', 'mermaid')
  expect(one.code).toBe(0)
  expect(one.out).toMatch(/^stateDiagram-v2\n {2}state "absent" as token_absent\n/)
})
