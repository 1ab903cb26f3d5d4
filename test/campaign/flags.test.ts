import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

test('the command reports an invalid flag, runs nothing and exits with 2', () => {
  const main = join(import.meta.dirname, 'main.ts')
  // Node 22 warns of its SQLite.
  const options = { encoding: 'utf8', env: { ...process.env, NODE_NO_WARNINGS: '1' } } as const
  const ended = spawnSync(process.execPath, [main, '--sed', '3'], options)
  expect(ended).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^error: unknown option '--sed'/),
  })
})
