import { basename, join } from 'node:path'
import { inParallel } from '../support/in-parallel.ts'
import { Random } from '../support/random.ts'
import { checkLog } from './check-log.ts'
import { type ChildResult, startChild } from './child.ts'
import { addFindings, createRow, hasFindings, type Row } from './findings.ts'
import type { LoadOptions } from './load.ts'
import { logName, Scratch } from './scratch.ts'
import { fileCalls, readCalls, readTraceLines, seccompFlag, straceCommand, whyTracingUnavailable } from './strace.ts'
import { decodeHex } from './trace.ts'

const changing = { calls: fileCalls, kinds: ['KILL', 'EIO', 'ENOSPC'] } as const
/** Without KILL: a process that is killed while it reads has changed nothing. */
const reading = { calls: readCalls, kinds: ['EIO'] } as const
const injected = { KILL: 'signal=KILL', EIO: 'error=EIO', ENOSPC: 'error=ENOSPC' }

/** The work of the load: it creates a log, continues one, or checkpoints all the time. Which calls fail, and how. */
const phases = [
  { name: 'creating a log', isNew: true, ...changing, load: { callers: 2, appends: 1 } },
  { name: 'appending', isNew: false, ...changing, load: { callers: 3, appends: 4 } },
  { name: 'with checkpoints', isNew: false, ...changing, load: { callers: 3, appends: 3, checkpointPages: 8 } },
  { name: 'reading', isNew: false, ...reading, load: { callers: 3, appends: 3, checkpointPages: 8 } },
] as const
type Phase = (typeof phases)[number]

/** A fault at the nth time of a system call. */
interface Fault {
  readonly phase: Phase
  /** The files that the load uses. */
  readonly paths: readonly string[]
  readonly call: string
  readonly n: number
  readonly kind: keyof typeof injected
  /** `n` is one more than the number of calls: this fault must not happen, which shows that all calls were tried. */
  readonly isBeyond: boolean
  readonly row: Row
}

/** The seed determines the names of temporary files. It is always the same, so that calls can be filtered by path. */
const loadSeed = 1

/** Injects a fault into each write, sync and read, one in each run, and checks the log afterwards. */
export async function injectFaults(seed: number, faults: number): Promise<Row[]> {
  const notRun = whyTracingUnavailable()
  if (notRun) return phases.map(({ name }) => createRow(`faults while ${name}`, { notRun }))
  const scratch = new Scratch()
  const template = scratch.folder()
  const load = { path: join(template, logName), seed: loadSeed + 1, callers: 4, appends: 80 }
  await startChild('load-store.ts', load).ended
  const random = new Random(seed)
  const rows: Row[] = []
  const chosen: Fault[] = []
  for (const phase of phases) {
    const row = createRow(`faults while ${phase.name}`)
    rows.push(row)
    const { paths, counts } = await surveyCalls(scratch, template, phase)
    const matrix = [...counts].flatMap(([call, count]) =>
      Array.from({ length: count + 1 }, (_, i) => i + 1).flatMap(n =>
        phase.kinds.map((kind): Fault => ({ phase, paths, call, n, kind, isBeyond: n > count, row })),
      ),
    )
    // A share for each: over all of them, the one fault of the smallest phase may be one that must not happen.
    chosen.push(...random.spread(matrix, Math.ceil(faults / phases.length)))
  }
  await inParallel(chosen, fault => tryFault(scratch, template, fault))
  const found = { lost: rows.flatMap(row => row.lost), corrupt: rows.flatMap(row => row.corrupt) }
  rows[0]?.unclear.push(...scratch.end(found))
  return rows
}

/** Runs a load without faults. Returns the files that it uses, and how often it makes each call. */
async function surveyCalls(scratch: Scratch, template: string, phase: Phase) {
  const folder = scratch.folder(phase.isNew ? undefined : template)
  const traces = scratch.folder()
  const under = [...straceCommand(traces, phase.calls), seccompFlag]
  const ended = await startChild('load-store.ts', createLoadOptions(phase, folder), under).ended
  if (ended.messages.at(-1)?.type !== 'closed') throw new TypeError(`Cannot survey a load: ${ended.errors}`)
  const counts = new Map<string, number>()
  const paths = new Set<string>()
  for (const line of readTraceLines(traces)) {
    const call = phase.calls.find(each => line.startsWith(`${each}(`))
    const texts = [...line.matchAll(/[<"]((?:\\x[0-9a-f]{2})+)[>"]/g)].map(([, hex = '']) => decodeHex(hex).toString())
    const touched = texts.filter(each => each === folder || each.startsWith(`${folder}/`))
    if (!call || touched.length === 0) continue
    for (const path of touched) paths.add(path === folder ? '' : basename(path))
    counts.set(call, (counts.get(call) ?? 0) + 1)
  }
  scratch.remove(folder)
  scratch.remove(traces)
  return { paths: [...paths], counts }
}

function createLoadOptions(phase: Phase, folder: string): LoadOptions {
  return { path: join(folder, logName), seed: loadSeed, ...phase.load }
}

async function tryFault(scratch: Scratch, template: string, fault: Fault): Promise<void> {
  const { phase, paths, call, n, kind, isBeyond, row } = fault
  const folder = scratch.folder(phase.isNew ? undefined : template)
  const traces = scratch.folder()
  const only = paths.flatMap(path => ['-P', path === '' ? folder : join(folder, path)])
  const inject = ['-e', `inject=${call}:${injected[kind]}:when=${n}`, ...(kind === 'KILL' ? [] : [seccompFlag])]
  const under = [...straceCommand(traces, phase.calls), ...only, ...inject]
  const ended = await startChild('load-store.ts', createLoadOptions(phase, folder), under).ended
  // The signal kills strace too, so the end of the trace is missing.
  const happened = kind === 'KILL' ? ended.code !== 0 : readTraceLines(traces).some(line => line.endsWith('(INJECTED)'))
  const acknowledged = ended.messages.filter(each => each.type === 'acknowledged')
  const where = `${kind} at ${call} ${n} while ${phase.name}`
  const found = await checkLog(join(folder, logName), acknowledged)
  row.faults += happened ? 1 : 0
  row.acknowledged += acknowledged.length
  addFindings(row, where, found)
  if (happened === isBeyond) row.unclear.push(`${where}: it ${happened ? 'happened' : 'did not happen'}`)
  if (kind !== 'KILL') row.unclear.push(...findUnclear(ended, phase).map(each => `${where}: ${each}`))
  if (!hasFindings(found)) scratch.remove(folder)
  scratch.remove(traces)
}

/** Checks that the process continued after the error: every command was done, and every error had a code of averba. */
function findUnclear({ messages, errors }: ChildResult, { load }: Phase): string[] {
  const broken = messages.flatMap(each => (each.type === 'broken' ? [each.what] : []))
  const done = messages.filter(each => each.type === 'acknowledged').length
  const asked = load.callers * load.appends
  if (messages.at(-1)?.type !== 'closed') broken.push(`the process ended: ${errors.trim().split('\n').at(-1)}`)
  else if (done !== asked) broken.push(`${done} commands were done instead of ${asked}`)
  return broken
}
