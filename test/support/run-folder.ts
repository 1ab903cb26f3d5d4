import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'

const memory = '/dev/shm'
/** Far more than a run of all tests writes. */
const memoryMinBytes = 4 * 2 ** 30

/** A folder in memory, where there is room for one: no test needs a disk, and each waits for it at every commit. */
function parentFolder(): string {
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= memoryMinBytes ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}

const folder = mkdtempSync(join(parentFolder(), 'averba-tests-'))
// See `folderInPackage`.
const inPackage = resolve(import.meta.dirname, '../../.averba', basename(folder))

/** Gives a whole run of tests one folder for what they write: none of them has to clean up. */
export function setup(): void {
  // Some tests run as somebody else.
  chmodSync(folder, 0o755)
  process.env.TMPDIR = folder
  // Hundreds of processes start from the same sources, dozens of them at once: none has to compile them.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled')
  execFileSync(process.execPath, ['--conditions=averba-source', join(import.meta.dirname, 'compiled.ts')])
  // After all workers: they write there what they compiled when they end.
  process.once('exit', () => {
    for (const each of [folder, inPackage]) rmSync(each, { recursive: true, force: true })
  })
}
