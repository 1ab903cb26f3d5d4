import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const scenario = join(import.meta.dirname, 'both-runtimes.ts')
const bin = (name: string) => join(root, 'node_modules/.bin', name)

async function run(command: string, args: string[]) {
  const { stdout } = await promisify(execFile)(command, args, { cwd: root })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

describe.each([
  ['Node', bin('node'), [scenario]],
  [
    'Deno',
    bin('deno'),
    ['run', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual', scenario],
  ],
])('%s', (_, command, args) => {
  test('walks a consent and a token over mutual TLS, and reads the log back', async () => {
    expect(await run(command, args)).toEqual({
      synced: { read: 4, changed: 4, unreadable: 0 },
      approved: 'ATIVO',
      fields: { sexo: { result: 'match' } },
      tokenRequests: 1,
      types: [
        'log.began',
        'subject.enrolled',
        'subject.syncRequested',
        ...Array.from({ length: 4 }, () => 'consent.appeared'),
        'subject.synced',
        'consent.changeRequested',
        'consent.approved',
        'validation.requested',
        'token.requested',
        'token.renewed',
        'validation.answered',
      ],
      legacyCertificate: true,
      differences: 0,
    })
  })
})
