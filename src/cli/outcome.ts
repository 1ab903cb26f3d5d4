import type { Outcome } from '../index.ts'
import { describeProblem } from '../vocabulary/outcome.ts'
import { type CommandEnd, exitCodes } from './command.ts'
import type { Say } from './language.ts'
import { formatInstant } from './output.ts'

/** The exit code of outcomes: 1 when one was declined, 2 while one is not known: a process that runs continues it. */
export function codeOfAll(outcomes: readonly Outcome<unknown>[]): number {
  if (outcomes.some(({ status }) => status === 'declined')) return exitCodes.error
  return outcomes.every(({ status }) => status === 'settled') ? exitCodes.done : exitCodes.attention
}

/** Says how a call ended, or what happens next. The value of a settled one is not shown. */
export function describeOutcome(say: Say, outcome: Outcome<unknown>): string {
  switch (outcome.status) {
    case 'settled':
      return say`done`
    case 'declined':
      return say`declined (${describeProblem(outcome.problem)})`
    case 'deferred':
      return say`not done yet, tried again at ${formatInstant(outcome.retryAt)} (${say.message(outcome.reason)})`
    case 'unknown':
      return outcome.next === 'probe'
        ? say`perhaps done: a reading will show what became of it`
        : say`perhaps done: a person has to find out what became of it`
    case 'pending':
      return say`recorded, and not sent yet`
  }
}

export function endOf(say: Say, what: string, outcome: Outcome<unknown>): Exclude<CommandEnd, number> {
  const { value: _, ...told } = { value: undefined, ...outcome }
  return { result: told, lines: [`${what}: ${describeOutcome(say, outcome)}.`], code: codeOfAll([outcome]) }
}
