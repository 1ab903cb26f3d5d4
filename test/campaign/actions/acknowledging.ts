import type { Averba } from '../../../src/averba.ts'
import type { ErrorCode } from '../../../src/errors.ts'
import type { Outcome } from '../../../src/outcome.ts'
import type { Box } from '../box.ts'
import type { Asked } from '../host.ts'

type Work<T> = (averba: Averba) => Promise<Outcome<T>>

/** What a person found out of a call in doubt. */
const verdicts = new Set(['NOT_CHARGED', 'CHARGED_WITHOUT_RESULT'])

/**
 * Tells the checks what a command is answered, at the moment at which the caller has it: a host may have passed it on
 * before the engine dies.
 */
export function acknowledged<T>(box: Box, commandId: string, work: Work<T>): Work<T> {
  return async averba => {
    const { life } = box
    const outcome = await work(averba)
    const { position, status } = outcome
    const again = () => work(box.averba)
    const isVerdict = outcome.status === 'declined' && verdicts.has(outcome.problem.code ?? '')
    if (!life.isOver) box.book.tell('acknowledged', { commandId, position, status, isVerdict, again })
    return outcome
  }
}

/** Asks for something under a command id, and tells the checks what it was answered. */
export function acknowledging<T>(
  box: Box,
  commandId: string,
  work: Work<T>,
  expected: readonly ErrorCode[],
): Promise<Asked<Outcome<T>>> {
  return box.host.ask(acknowledged(box, commandId, work), expected)
}
