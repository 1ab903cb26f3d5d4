/** `npm run campaign:defects`: applies each known defect to a copy of the source, and shows that the campaign finds it. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/** The defects: the name of the patch, the check that finds it, and the maximum number of seeds. */
const defects = [
  { name: 'acknowledge-before-commit', check: 'nothing-lost', seeds: 20 },
  { name: 'retry-unknown-validation', check: 'paid-once', seeds: 20 },
  { name: 'renew-token-twice', check: 'one-token', seeds: 20 },
  { name: 'lose-last-failures', check: 'in-the-inbox', seeds: 20 },
  { name: 'fold-twice', check: 'views-equal-replay', seeds: 20 },
  { name: 'secrets-of-another', check: 'secrets-compared', seeds: 20 },
  { name: 'forget-timer', check: 'nothing-pending', seeds: 20 },
  { name: 'follower-skips', check: 'follower-order', seeds: 20 },
  { name: 'leave-a-part', check: 'erased-for-good', seeds: 20 },
] as const

const root = resolve(import.meta.dirname, '../..')
const days = 30
/** The maximum size of a run's output. */
const outputBytesMax = 64_000_000

const { values } = parseArgs({ options: { only: { type: 'string' } } })

let isGood = true
for (const { name, check, seeds } of defects.filter(each => values.only === undefined || each.name === values.only)) {
  const found = findIn(name, check, seeds)
  isGood &&= found !== undefined
  console.log(`${name}: ${found === undefined ? `NOT FOUND within ${seeds} seeds` : `${check}, with seed ${found}`}`)
}
if (!isGood) process.exitCode = 1

/** The first seed whose run fails the check; `undefined` when every run passes. */
function findIn(name: string, check: string, seeds: number): number | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'averba-defect-'))
  try {
    for (const part of ['src', 'test', 'package.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    execFileSync('git', ['apply', '-C1', join(root, 'test/defects', `${name}.patch`)], { cwd: folder })
    const flags = ['--seeds', String(seeds), '--days', String(days), '--until', check, '--json']
    const options = { cwd: folder, encoding: 'utf8', maxBuffer: outputBytesMax } as const
    const { stdout } = spawnSync(process.execPath, ['test/campaign/main.ts', ...flags], options)
    const seen = [...stdout.matchAll(/^seed (\d+): ([a-z-]+):/gm)].find(([, , found]) => found === check)
    return seen && Number(seen[1])
  } finally {
    rmSync(folder, { recursive: true })
  }
}
