import { basename, join } from 'node:path'
import { inParallel } from '../support/in-parallel.ts'
import { Random } from '../support/random.ts'
import { checkLog } from './check-log.ts'
import { type ChildResult, startChild } from './child.ts'
import { addFindings, hasFindings, notRunRow, type Row } from './findings.ts'
import type { LoadOptions } from './load.ts'
import { logName, Scratch } from './scratch.ts'
import { fileCalls, readCalls, readTraceLines, seccompFlag, straceCommand, whyTracingUnavailable } from './strace.ts'

/** The size of a fault matrix. */
export interface FaultOptions {
  readonly seed: number
  /** How many of all possible faults are injected, evenly spread. */
  readonly faults: number
}

const kinds = { KILL: 'signal=KILL', EIO: 'error=EIO', ENOSPC: 'error=ENOSPC' }
type Kind = keyof typeof kinds

/** A fault at the nth time of a system call. */
interface Fault {
  readonly phase: Phase
  readonly call: string
  readonly n: number
  readonly kind: Kind
  /** `n` is one more than the number of calls: this fault must not happen, which shows that all calls were tried. */
  readonly isBeyond: boolean
}

/** The work of the load: it creates a log, continues one, or checkpoints all the time. */
interface Phase {
  readonly name: string
  readonly isNew: boolean
  /** The system calls that fail. */
  readonly calls: readonly string[]
  readonly kinds: readonly Kind[]
  readonly load: Pick<LoadOptions, 'callers' | 'appends' | 'checkpointPages'>
}

const changing = { calls: fileCalls, kinds: ['KILL', 'EIO', 'ENOSPC'] } as const
/** Without KILL: a process that is killed while it reads has changed nothing. */
const reading = { calls: readCalls, kinds: ['EIO'] } as const

const phases: readonly Phase[] = [
  { name: 'creating a log', isNew: true, ...changing, load: { callers: 2, appends: 1 } },
  { name: 'appending', isNew: false, ...changing, load: { callers: 3, appends: 4 } },
  {
    name: 'with checkpoints',
    isNew: false,
    ...changing,
    load: { callers: 3, appends: 3, checkpointPages: 8 },
  },
  { name: 'reading', isNew: false, ...reading, load: { callers: 3, appends: 3, checkpointPages: 8 } },
]

/** The seed determines the names of temporary files. It is always the same, so that calls can be filtered by path. */
const loadSeed = 1

/** Injects a fault into each write, sync and read, one in each run, and checks the log afterwards. */
export async function injectFaults({ seed, faults }: FaultOptions): Promise<Row[]> {
  const reason = whyTracingUnavailable()
  if (reason) return phases.map(({ name }) => notRunRow(`faults while ${name}`, reason))
  const scratch = new Scratch()
  const template = scratch.folder()
  await startChild('load-store.ts', {
    path: join(template, logName),
    seed: loadSeed + 1,
    callers: 4,
    appends: 80,
  }).ended
  const pathsByPhase = new Map<Phase, string[]>()
  const chosen: Fault[] = []
  const random = new Random(seed)
  for (const phase of phases) {
    const { paths, counts } = await surveyCalls(scratch, template, phase)
    pathsByPhase.set(phase, paths)
    const matrix: Fault[] = []
    for (const [call, count] of counts) {
      for (let n = 1; n <= count + 1; n++) {
        for (const kind of phase.kinds) matrix.push({ phase, call, n, kind, isBeyond: n > count })
      }
    }
    // A share for each: over all of them, the one fault of the smallest phase may be one that must not happen.
    chosen.push(...random.spread(matrix, Math.ceil(faults / phases.length)))
  }
  const rows = new Map(phases.map(phase => [phase, emptyRow(`faults while ${phase.name}`)]))
  await inParallel(chosen, async fault => {
    const row = rows.get(fault.phase)
    if (row) await tryFault(scratch, template, fault, pathsByPhase.get(fault.phase) ?? [], row)
  })
  const all = [...rows.values()]
  const found = { lost: all.flatMap(row => row.lost), corrupt: all.flatMap(row => row.corrupt) }
  all[0]?.unclear.push(...scratch.end(found))
  return all
}

type OpenRow = { -readonly [K in keyof Row]: Row[K] } & { unclear: string[] }

function emptyRow(name: string): OpenRow {
  return { name, faults: 0, acknowledged: 0, lost: [], corrupt: [], unclear: [] }
}

/** Runs a load without faults. Returns the files that it uses, and how often it makes each call. */
async function surveyCalls(scratch: Scratch, template: string, phase: Phase) {
  const folder = scratch.folder(phase.isNew ? undefined : template)
  const traces = scratch.folder()
  const ended = await startChild('load-store.ts', createLoadOptions(phase, folder), [
    ...straceCommand(traces, phase.calls),
    seccompFlag,
  ]).ended
  if (ended.messages.at(-1)?.type !== 'closed') throw new TypeError(`Cannot survey a load: ${ended.errors}`)
  const counts = new Map<string, number>()
  const paths = new Set<string>()
  for (const line of readTraceLines(traces)) {
    const call = phase.calls.find(each => line.startsWith(`${each}(`))
    const texts = [...line.matchAll(/[<"]((?:\\x[0-9a-f]{2})+)[>"]/g)].map(([, hex = '']) =>
      Buffer.from(hex.replaceAll('\\x', ''), 'hex').toString(),
    )
    const touched = texts.filter(each => each === folder || each.startsWith(`${folder}/`))
    if (!call || touched.length === 0) continue
    for (const path of touched) paths.add(path === folder ? '' : basename(path))
    counts.set(call, (counts.get(call) ?? 0) + 1)
  }
  scratch.remove(folder)
  scratch.remove(traces)
  return { paths: [...paths], counts }
}

/** A fixed process id: files named after the process must have the paths of the survey, as strace filters by path. */
const pid = 4_242

function createLoadOptions(phase: Phase, folder: string): LoadOptions {
  return { path: join(folder, logName), seed: loadSeed, pid, ...phase.load }
}

async function tryFault(scratch: Scratch, template: string, fault: Fault, paths: string[], row: OpenRow) {
  const { phase, call, n, kind, isBeyond } = fault
  const folder = scratch.folder(phase.isNew ? undefined : template)
  const traces = scratch.folder()
  const only = paths.flatMap(path => ['-P', path === '' ? folder : join(folder, path)])
  const inject = ['-e', `inject=${call}:${kinds[kind]}:when=${n}`, ...(kind === 'KILL' ? [] : [seccompFlag])]
  const under = [...straceCommand(traces, phase.calls), ...only, ...inject]
  const ended = await startChild('load-store.ts', createLoadOptions(phase, folder), under).ended
  // The signal kills strace too, so the end of the trace is missing.
  const happened = kind === 'KILL' ? ended.code !== 0 : readTraceLines(traces).some(line => line.endsWith('(INJECTED)'))
  const acknowledged = ended.messages.filter(each => each.type === 'acknowledged')
  const where = `${kind} at ${call} ${n} while ${phase.name}`
  const { lost, corrupt } = await checkLog(join(folder, logName), acknowledged)
  row.faults += happened ? 1 : 0
  row.acknowledged += acknowledged.length
  addFindings(row, where, { lost, corrupt })
  if (happened === isBeyond) row.unclear.push(`${where}: it ${happened ? 'happened' : 'did not happen'}`)
  if (kind !== 'KILL') row.unclear.push(...findUnclear(ended, phase).map(each => `${where}: ${each}`))
  if (!hasFindings({ lost, corrupt })) scratch.remove(folder)
  scratch.remove(traces)
}

/** Checks that the process continued after the error: every command was done, and every error had a code of averba. */
function findUnclear({ messages, errors }: ChildResult, { load }: Phase): string[] {
  const broken = messages.flatMap(each => (each.type === 'broken' ? [each.what] : []))
  const done = messages.filter(each => each.type === 'acknowledged').length
  const asked = load.callers * (load.appends ?? 0)
  if (messages.at(-1)?.type !== 'closed') broken.push(`the process ended: ${errors.trim().split('\n').at(-1)}`)
  else if (done !== asked) broken.push(`${done} commands were done instead of ${asked}`)
  return broken
}
