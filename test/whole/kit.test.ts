import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const example = join(root, 'examples/with-the-kit.ts')
const source = '--conditions=averba-source'
const deno = ['test', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual', source]

test.each([
  ['node:test', 'node', [source, '--test', '--test-reporter=tap'], /^# pass 3$[\s\S]*^# fail 0$/m],
  ['Deno.test', 'deno', deno, /3 passed.* 0 failed/],
] as const)('the kit works with %s', async (_, command, args, passed) => {
  const run = promisify(execFile)(join(root, 'node_modules/.bin', command), [...args, example], {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1' },
  })
  expect((await run).stdout).toMatch(passed)
})
