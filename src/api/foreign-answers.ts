import { type ForeignCode, foreignAdvice } from '../vocabulary/foreign-answer.ts'
import { serviceOf } from '../vocabulary/names.ts'
import type { ApiContext } from './api-context.ts'

/** The number of open calls of a type, and why the last answer to them does not count. */
export interface ForeignCount {
  readonly type: string
  readonly state: string
  readonly count: number
  readonly foreign: ForeignCode | null
}

/** For a code with which the service itself answers. */
const wordsOf: Partial<Record<ForeignCode, { readonly got: string; readonly said: string }>> = {
  ANSWER_TOO_LARGE: { got: 'an answer that is too large from', said: 'an answer is too large' },
  CALL_UNAUTHORIZED: { got: 'a 401 with more than one token from', said: 'a call is answered 401 with each token' },
}

/** Says how many open calls of each service got an answer that does not count, and what to do. */
export function describeForeign(pending: readonly ForeignCount[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { type, state, count, foreign } of pending) {
    // One in doubt waits for a person, long after who answered it has gone.
    if (foreign === null || state === 'unknown') continue
    const what = wordsOf[foreign]?.got ?? 'an answer that is not that of'
    const words = `${what} the ${serviceOf(type)} (${foreign}): ${foreignAdvice[foreign]}`
    counts.set(words, (counts.get(words) ?? 0) + count)
  }
  return [...counts].map(([words, count]) => `${count} ${count === 1 ? 'call' : 'calls'} got ${words}; see effects.get`)
}

/** Logs the first answer to an operation that does not count, and the next one once the service has answered it. */
export function logForeignAnswers({ engine, log }: Pick<ApiContext, 'engine' | 'log'>): void {
  const told = new Map<string, ForeignCode>()
  engine.on('attempted', ({ operation, outcome, unread }) => {
    if (unread === undefined && (outcome === 'settled' || outcome === 'declined')) told.delete(operation)
    if (unread === undefined || unread === 'other' || told.get(operation) === unread) return
    told.set(operation, unread)
    const what = wordsOf[unread]?.said ?? 'somebody else answers'
    const message = `${what} for the ${serviceOf(operation)}: ${foreignAdvice[unread]}`
    log({ level: 'error', message, error: unread, detail: operation })
  })
}
