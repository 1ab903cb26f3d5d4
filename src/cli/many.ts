import { format } from 'node:util'
import { AverbaError, type Outcome } from '../index.ts'
import { type CommandEnd, exitCodes } from './command.ts'
import { createSay, type Say } from './language.ts'
import { describeOutcome } from './outcome.ts'
import type { Line } from './output.ts'
import { createProgress } from './progress.ts'
import type { Terminal } from './terminal.ts'

export interface DoneOne {
  readonly id: string
  /**
   * `accepted`: it is in the log, and a process that runs does what follows. `recorded`: its outcome is not known yet,
   * and such a process continues it. `found`: nothing was to be done. `untried`: a bug ended the command before.
   */
  readonly status: 'done' | 'accepted' | 'recorded' | 'failed' | 'found' | 'untried'
  readonly detail?: string
  /** Of a call that has not succeeded, or not yet. */
  readonly outcome?: Outcome<unknown>
  readonly code?: string
}

/** What to do with each: to act, or only to look whether that could be done. */
interface Acts {
  readonly act?: ((id: string) => Promise<Outcome<unknown> | unknown>) | undefined
  readonly look?: (id: string) => Promise<unknown>
  /** What is said when there are none. */
  readonly none?: string
}

/** Acts on one after the other. A refused one does not stop the others; a bug does, and what was done is still told. */
export async function actOnEach(terminal: Terminal, noun: string, ids: readonly string[], { act, look, none }: Acts) {
  const { say } = terminal
  if (ids.length === 0) return { result: { done: [] }, lines: [none ?? say`Nothing was found.`] }
  const progress = createProgress(terminal)
  const done: DoneOne[] = []
  let isBroken = false
  const tryOne = async (id: string): Promise<DoneOne> => {
    try {
      return { id, ...toStatus(act ? await act(id) : await look?.(id), act !== undefined) }
    } catch (error) {
      isBroken = !(error instanceof AverbaError)
      if (isBroken) terminal.stderr.write(`${format(error)}\n`)
      const { code, message } = error instanceof AverbaError ? error : { code: 'BUG', message: 'a bug in averba' }
      return { id, status: 'failed', code, detail: message }
    }
  }
  for (const id of ids) {
    done.push(isBroken ? { id, status: 'untried' } : await tryOne(id))
    progress('', done.length, ids.length)
  }
  return describeDone(say, done, noun)
}

function toStatus(result: unknown, hasActed: boolean): Omit<DoneOne, 'id'> {
  if (!hasActed) return { status: 'found' }
  if (!isOutcome(result)) return { status: 'accepted' }
  if (result.status === 'settled') return { status: 'done' }
  return result.status === 'declined'
    ? { status: 'failed', code: 'OUTCOME', outcome: result }
    : { status: 'recorded', outcome: result }
}

function isOutcome(result: unknown): result is Outcome<unknown> {
  return typeof result === 'object' && result !== null && 'status' in result && 'effect' in result
}

/** Says what became of each: 0 when all are done, 2 when one is not known yet, 1 when one failed. */
export function describeDone(say: Say, done: readonly DoneOne[], noun: string): Exclude<CommandEnd, number> {
  const has = (status: DoneOne['status']) => done.some(each => each.status === status)
  const ofAll = has('failed') ? exitCodes.error : has('recorded') ? exitCodes.attention : exitCodes.done
  const code = has('untried') || done.some(each => each.code === 'BUG') ? exitCodes.bug : ofAll
  // What programs read is the same in every language.
  const told = done.map(({ outcome, ...each }) => ({
    ...each,
    ...(outcome && { detail: describeOutcome(createSay('en'), outcome) }),
  }))
  return { result: { done: told }, lines: formatDone(say, done, noun), code }
}

function* formatDone(say: Say, done: readonly DoneOne[], noun: string): Iterable<string | Line> {
  const names = {
    ...{ done: say`done`, accepted: say`accepted`, recorded: say`recorded`, found: say`found`, failed: say`failed` },
    untried: say`not tried`,
  }
  const styles: { [S in DoneOne['status']]?: Line['style'] } = { recorded: 'yellow', failed: 'red', untried: 'red' }
  for (const { id, status, code, detail, outcome } of done) {
    const why = outcome ? describeOutcome(say, outcome) : detail && say.message(detail)
    const more = [code, why].filter(each => each !== undefined).join(': ')
    yield { text: `${names[status]}  ${id}${more === '' ? '' : `  ${more}`}`, style: styles[status] }
  }
  const counts = Object.entries(names).flatMap(([status, name]) => {
    const count = done.filter(each => each.status === status).length
    return count > 0 ? [`${name}: ${count}`] : []
  })
  yield `${say.count(done.length, noun)} (${counts.join(', ')}).`
  if (done.some(({ status }) => status === 'found')) yield say`Nothing was done.`
}
