import type { Averba } from '../../../src/averba.ts'
import type { ErrorCode } from '../../../src/errors.ts'
import type { Outcome } from '../../../src/outcome.ts'
import type { Box } from '../box.ts'
import type { Asked } from '../host.ts'

/** Asks for something under a command id, and tells the checks what it was answered. */
export async function acknowledging<T>(
  box: Box,
  commandId: string,
  work: (averba: Averba) => Promise<Outcome<T>>,
  expected: readonly ErrorCode[],
): Promise<Asked<Outcome<T>>> {
  const asked = await box.host.ask(work, expected)
  if (asked && 'value' in asked) {
    const { position, status } = asked.value
    const again = () => work(box.averba)
    box.book.tell('acknowledged', { commandId, position, status, again })
  }
  return asked
}
