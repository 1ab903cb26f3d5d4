import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The calls by which a program changes files, or asks for them to be kept. */
export const fileCalls = [
  'write',
  'pwrite64',
  'ftruncate',
  'fallocate',
  'fsync',
  'fdatasync',
  'link',
  'rename',
  'unlink',
] as const

/** The calls by which SQLite reads files. */
export const readCalls = ['pread64'] as const

/** Longer than any one write of the load. */
const dataBytesMax = 100_000

/** Says why nothing can be traced here; `undefined` when it can. */
export function whyNoTracing(): string | undefined {
  const { error, status, stderr } = spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], {
    encoding: 'utf8',
  })
  if (error) return 'strace is not installed'
  return status === 0 ? undefined : `tracing is not allowed: ${stderr.trim().split('\n')[0]}`
}

/** The command that runs another under strace, which writes into files of a folder, one for each thread. */
export function straceTo(folder: string, calls: readonly string[] = fileCalls): string[] {
  return [
    ...['strace', '-ff', '-y', '-xx', '-s', String(dataBytesMax)],
    ...['-o', join(folder, 'trace'), '-e', `trace=${calls.join(',')}`],
  ]
}

/** What makes strace quick: it stops at the calls that it was told of only. Signals cannot be injected then. */
export const quickly = '--seccomp-bpf'

/** The lines of the thread that touches the store, and speaks: hardly anything is heard of the others. */
export function linesIn(folder: string): string[] {
  const traces = readdirSync(folder).map(name => readFileSync(join(folder, name), 'utf8'))
  return (traces.sort((a, b) => b.length - a.length)[0] ?? '').split('\n')
}
