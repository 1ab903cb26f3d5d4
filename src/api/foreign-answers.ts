import { type ForeignCode, foreignAdvice } from '../vocabulary/foreign-answer.ts'
import { serviceOf } from '../vocabulary/names.ts'
import type { ApiContext } from './api-context.ts'

/** The number of open calls of a type, and why the last answer to them was not the service's own. */
export interface ForeignCount {
  readonly type: string
  readonly count: number
  readonly foreign: ForeignCode | null
}

/** Says of each service whose open calls somebody else answered how many there are, and what to do. */
export function describeForeign(pending: readonly ForeignCount[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { type, count, foreign } of pending) {
    if (foreign === null) continue
    const words = `an answer that is not that of the ${serviceOf(type)} (${foreign}): ${foreignAdvice[foreign]}`
    counts.set(words, (counts.get(words) ?? 0) + count)
  }
  return [...counts].map(([words, count]) => `${count} ${count === 1 ? 'call' : 'calls'} got ${words}; see effects.get`)
}

/** Logs once when somebody else begins to answer for a service, and again after the service itself has answered. */
export function logForeignAnswers({ engine, log }: Pick<ApiContext, 'engine' | 'log'>): void {
  const told = new Map<string, ForeignCode>()
  engine.on('attempted', ({ operation, outcome, unread }) => {
    const service = serviceOf(operation)
    if (unread === undefined && (outcome === 'settled' || outcome === 'declined')) told.delete(service)
    if (unread === undefined || unread === 'other' || told.get(service) === unread) return
    told.set(service, unread)
    log({ message: `somebody else answers for the ${service}: ${foreignAdvice[unread]}`, error: unread })
  })
}
