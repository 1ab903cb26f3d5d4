import { AverbaError } from '../index.ts'
import { type CommandEnd, exitCodes } from './command.ts'
import type { Say } from './language.ts'
import type { Line } from './output.ts'
import { createProgress } from './progress.ts'
import type { Terminal } from './terminal.ts'

/** What became of one of many. */
export interface DoneOne {
  readonly id: string
  /** `listed`: nothing was to be done with it. */
  readonly status: 'done' | 'failed' | 'listed'
  /** Why it failed. */
  readonly error?: { readonly code: string; readonly message: string }
}

/** Acts on one after the other. A refused one does not stop the others. Without an act they are only listed. */
export async function actOnEach(
  terminal: Terminal,
  ids: readonly string[],
  act: ((id: string) => Promise<unknown>) | undefined,
): Promise<DoneOne[]> {
  const progress = createProgress(terminal)
  const done: DoneOne[] = []
  for (const id of ids) {
    done.push(await actOn(id, act))
    if (act) progress('', done.length, ids.length)
  }
  return done
}

async function actOn(id: string, act: ((id: string) => Promise<unknown>) | undefined): Promise<DoneOne> {
  if (!act) return { id, status: 'listed' }
  try {
    await act(id)
    return { id, status: 'done' }
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    return { id, status: 'failed', error: { code: error.code, message: error.message } }
  }
}

/** Says what became of each, and ends with 1 when one failed. */
export function describeDone(say: Say, done: readonly DoneOne[], noun: string): Exclude<CommandEnd, number> {
  const failed = done.filter(each => each.status === 'failed').length
  return {
    result: { done },
    lines: formatDone(say, done, noun),
    code: failed === 0 ? exitCodes.done : exitCodes.error,
  }
}

function* formatDone(say: Say, done: readonly DoneOne[], noun: string): Iterable<string | Line> {
  for (const { id, status, error } of done) {
    if (error) yield { text: `${say`failed`}  ${id}  ${error.code}: ${error.message}`, style: 'red' }
    else yield `${status === 'done' ? say`done` : say`found`}  ${id}`
  }
  const count = (which: DoneOne['status']) => done.filter(each => each.status === which).length
  if (done.length === 0) yield say`Nothing was found.`
  else if (count('listed') > 0) yield say`${say.count(count('listed'), noun)} found; nothing was done.`
  else yield say`${say.count(count('done'), noun)} done, ${count('failed')} failed.`
}
