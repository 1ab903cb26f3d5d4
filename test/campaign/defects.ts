/** `npm run campaign:defects`: applies each known defect to a copy of the source, and shows that the campaign finds it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../support/run-script.ts'

/** The checks that find the defects, by the name of the patch. */
const defects = {
  'acknowledge-before-commit': 'nothing-lost',
  'retry-unknown-validation': 'paid-once',
  'renew-token-twice': 'one-token',
  'lose-last-failures': 'in-the-inbox',
  'fold-twice': 'views-equal-replay',
  'secrets-of-another': 'secrets-compared',
  'forget-timer': 'nothing-pending',
  'follower-skips': 'follower-order',
  'leave-a-part': 'erased-for-good',
}

/** How much of the campaign must find each. */
const [seeds, days] = ['20', '30']
const outputBytesMax = 64_000_000

const { values } = parseArgs({ options: { only: { type: 'string' } } })

for (const [name, check] of Object.entries(defects)) {
  if (values.only !== undefined && values.only !== name) continue
  const found = findIn(name, check)
  if (found === undefined) process.exitCode = 1
  console.log(`${name}: ${found === undefined ? `NOT FOUND within ${seeds} seeds` : `${check}, with seed ${found}`}`)
}

/** The first seed whose run fails the check; `undefined` when every run passes. */
function findIn(name: string, check: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'averba-defect-'))
  try {
    for (const part of ['src', 'test', 'package.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    execFileSync('git', ['apply', '-C1', join(root, 'test/defects', `${name}.patch`)], { cwd: folder })
    const flags = ['--seeds', seeds, '--days', days, '--until', check, '--json']
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: outputBytesMax } as const
    const { stdout } = spawnSync(process.execPath, ['test/campaign/main.ts', ...flags], options)
    const seen = [...stdout.matchAll(/^seed (\d+): ([a-z-]+):/gm)].find(([, , found]) => found === check)
    return seen?.[1]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
