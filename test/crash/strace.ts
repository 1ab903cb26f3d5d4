import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The system calls that change or sync files. */
export const fileCalls = [
  ...(['write', 'pwrite64', 'ftruncate', 'fallocate', 'fsync', 'fdatasync'] as const),
  ...(['link', 'rename', 'unlink'] as const),
] as const

/** The system calls with which SQLite reads files. */
export const readCalls = ['pread64'] as const

/** Longer than any write of the load. */
const dataBytesMax = 100_000

/** The reason why tracing is impossible here; `undefined` when it is possible. */
export function whyTracingUnavailable(): string | undefined {
  const { error, status, stderr } = spawnSync('strace', ['-f', '-o', '/dev/null', 'true'], { encoding: 'utf8' })
  if (error) return 'strace is not installed'
  return status === 0 ? undefined : `tracing is not allowed: ${stderr.trim().split('\n')[0]}`
}

/** The command that runs a program under strace. The traces go into a folder, one file for each thread. */
export function straceCommand(folder: string, calls: readonly string[] = fileCalls): string[] {
  return [
    ...['strace', '-ff', '-y', '-xx', '-s', String(dataBytesMax)],
    ...['-o', join(folder, 'trace'), '-e', `trace=${calls.join(',')}`],
  ]
}

/** Makes strace faster: it stops only at the traced calls. Signals cannot be injected with it. */
export const seccompFlag = '--seccomp-bpf'

/** The trace lines of the main thread, which uses the store: it has by far the longest trace. */
export function readTraceLines(folder: string): string[] {
  const traces = readdirSync(folder).map(name => readFileSync(join(folder, name), 'utf8'))
  return (traces.sort((a, b) => b.length - a.length)[0] ?? '').split('\n')
}
