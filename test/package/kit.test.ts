import { expect, test } from 'vitest'
import { runScript } from '../support/run-script.ts'

test.each([
  ['node:test', /^# pass 3$[\s\S]*^# fail 0$/m],
  ['Deno.test', /3 passed.* 0 failed/],
] as const)('the kit works with %s', async (runner, passed) => {
  expect(await runScript(runner, 'examples/with-the-kit.ts')).toMatch(passed)
})
