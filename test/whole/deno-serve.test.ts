import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

test('with Deno.serve and node:http, notifications are stored before they are acknowledged', async () => {
  const args = ['run', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual']
  const script = join(import.meta.dirname, 'receiver-on-deno.ts')
  const { stdout } = await promisify(execFile)(join(root, 'node_modules/.bin/deno'), [...args, script], {
    cwd: root,
  })
  expect(JSON.parse(stdout.trim().split('\n').at(-1) ?? '')).toEqual({
    statuses: [200, 401, 200],
    forgotten: 500,
    listened: { log: 200, drain: 200, decode: 200, read: 500 },
    handled: [{ numero: '26BR1' }, { numero: 'não log' }, { numero: 'não drain' }, { numero: 'não decode' }],
    states: [2, 1, 1, 1].map(copies => ({ state: 'handled', copies })),
  })
})
