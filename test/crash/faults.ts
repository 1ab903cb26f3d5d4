import { basename, join } from 'node:path'
import { inParallel } from '../in-parallel.ts'
import { checkLog } from './check-log.ts'
import { type Ended, startChild } from './child.ts'
import { addFindings, isAnythingIn, notRun, type Row } from './findings.ts'
import type { LoadOptions } from './load.ts'
import { Random } from './random.ts'
import { logName, Scratch } from './scratch.ts'
import { fileCalls, linesIn, quickly, readCalls, straceTo, whyNoTracing } from './strace.ts'

/** How a matrix of faults is sized. */
export interface FaultOptions {
  readonly seed: number
  /** How many of all faults are tried, evenly spread. */
  readonly faults: number
}

const kinds = { KILL: 'signal=KILL', EIO: 'error=EIO', ENOSPC: 'error=ENOSPC' }
type Kind = keyof typeof kinds

/** One fault: what happens at the nth time of a call. */
interface Fault {
  readonly phase: Phase
  readonly call: string
  readonly n: number
  readonly kind: Kind
  /** One more than there are of this call: it may not happen, which tells that all were tried. */
  readonly isBeyond: boolean
}

/** What the load does meanwhile: it makes a log, goes on with one, or moves pages into the file all the time. */
interface Phase {
  readonly name: string
  readonly isNew: boolean
  /** Which calls fail, and how. */
  readonly calls: readonly string[]
  readonly kinds: readonly Kind[]
  readonly load: Pick<LoadOptions, 'callers' | 'appends' | 'checkpointPages'>
}

const changing = { calls: fileCalls, kinds: ['KILL', 'EIO', 'ENOSPC'] } as const
/** Whoever dies while reading has changed nothing. */
const reading = { calls: readCalls, kinds: ['EIO'] } as const

const phases: readonly Phase[] = [
  { name: 'making a log', isNew: true, ...changing, load: { callers: 2, appends: 1 } },
  { name: 'appending', isNew: false, ...changing, load: { callers: 3, appends: 4 } },
  {
    name: 'with checkpoints',
    isNew: false,
    ...changing,
    load: { callers: 3, appends: 3, checkpointPages: 8 },
  },
  { name: 'reading', isNew: false, ...reading, load: { callers: 3, appends: 3, checkpointPages: 8 } },
]

/** The load's seed names its temporary files: the same in every run, so that calls can be told by path. */
const loadSeed = 1

/** Injects a fault into each write, each sync and each read, one a run, and checks the log that is left. */
export async function injectFaults({ seed, faults }: FaultOptions): Promise<Row[]> {
  const why = whyNoTracing()
  if (why) return phases.map(({ name }) => notRun(`faults while ${name}`, why))
  const scratch = new Scratch()
  const template = scratch.folder()
  await startChild('load-store.ts', {
    path: join(template, logName),
    seed: loadSeed + 1,
    callers: 4,
    appends: 80,
  }).ended
  const ways = new Map<Phase, string[]>()
  const matrix: Fault[] = []
  for (const phase of phases) {
    const { paths, counts } = await survey(scratch, template, phase)
    ways.set(phase, paths)
    for (const [call, count] of counts) {
      for (let n = 1; n <= count + 1; n++) {
        for (const kind of phase.kinds) matrix.push({ phase, call, n, kind, isBeyond: n > count })
      }
    }
  }
  const rows = new Map(phases.map(phase => [phase, emptyRow(`faults while ${phase.name}`)]))
  await inParallel(new Random(seed).spread(matrix, faults), async fault => {
    const row = rows.get(fault.phase)
    if (row) await tryFault(scratch, template, fault, ways.get(fault.phase) ?? [], row)
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

/** Runs a load without faults, and says which files it touches and how often it makes each call. */
async function survey(scratch: Scratch, template: string, phase: Phase) {
  const folder = scratch.folder(phase.isNew ? undefined : template)
  const traces = scratch.folder()
  const ended = await startChild('load-store.ts', loadOf(phase, folder), [
    ...straceTo(traces, phase.calls),
    quickly,
  ]).ended
  if (ended.said.at(-1)?.said !== 'closed') throw new TypeError(`Cannot survey a load: ${ended.errors}`)
  const counts = new Map<string, number>()
  const paths = new Set<string>()
  for (const line of linesIn(traces)) {
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

/** A file that is named after its process has the same name in every run: strace goes by the paths of the survey. */
const pid = 4_242

function loadOf(phase: Phase, folder: string): LoadOptions {
  return { path: join(folder, logName), seed: loadSeed, pid, ...phase.load }
}

async function tryFault(scratch: Scratch, template: string, fault: Fault, paths: string[], row: OpenRow) {
  const { phase, call, n, kind, isBeyond } = fault
  const folder = scratch.folder(phase.isNew ? undefined : template)
  const traces = scratch.folder()
  const only = paths.flatMap(path => ['-P', path === '' ? folder : join(folder, path)])
  const inject = ['-e', `inject=${call}:${kinds[kind]}:when=${n}`, ...(kind === 'KILL' ? [] : [quickly])]
  const under = [...straceTo(traces, phase.calls), ...only, ...inject]
  const ended = await startChild('load-store.ts', loadOf(phase, folder), under).ended
  // strace dies of the same signal, and takes the end of the trace along.
  const happened =
    kind === 'KILL' ? ended.code !== 0 : linesIn(traces).some(line => line.endsWith('(INJECTED)'))
  const acknowledged = ended.said.filter(each => each.said === 'acknowledged')
  const where = `${kind} at ${call} ${n} while ${phase.name}`
  const { lost, corrupt } = await checkLog(join(folder, logName), acknowledged)
  row.faults += happened ? 1 : 0
  row.acknowledged += acknowledged.length
  addFindings(row, where, { lost, corrupt })
  if (happened === isBeyond) row.unclear.push(`${where}: it ${happened ? 'happened' : 'did not happen'}`)
  if (kind !== 'KILL') row.unclear.push(...unclearIn(ended, phase).map(each => `${where}: ${each}`))
  if (!isAnythingIn({ lost, corrupt })) scratch.remove(folder)
  scratch.remove(traces)
}

/** After an error the process has to go on: every command is done in the end, and each error had a code of ours. */
function unclearIn({ said, errors }: Ended, { load }: Phase): string[] {
  const broken = said.flatMap(each => (each.said === 'broken' ? [each.what] : []))
  const done = said.filter(each => each.said === 'acknowledged').length
  const asked = load.callers * (load.appends ?? 0)
  if (said.at(-1)?.said !== 'closed') broken.push(`the process ended: ${errors.trim().split('\n').at(-1)}`)
  else if (done !== asked) broken.push(`${done} commands were done instead of ${asked}`)
  return broken
}
