/** Captured at load: a test runner may replace the globals with fake timers. */
const [nextTurn, cancelTurn] = [setImmediate, clearImmediate]
let turnsAwaited = 0

/**
 * Runs the work after the next turn of the event loop. All waits for a turn use this, because `whenQuiet` counts them.
 *
 * @returns a function that cancels the work if it has not begun
 */
export function afterTurn(work: () => void): () => void {
  turnsAwaited += 1
  let isAwaited = true
  const end = () => {
    if (isAwaited) turnsAwaited -= 1
    isAwaited = false
  }
  const turn = nextTurn(() => {
    end()
    work()
  })
  return () => {
    end()
    cancelTurn(turn)
  }
}

/** Waits for one turn of the event loop: long work lets timers, sockets and signals run between its pages. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise(resolve => afterTurn(resolve))
}

/** Resolves when all work waits for a clock or I/O: after a turn no callback is left, and turns are counted. */
export async function whenQuiet(): Promise<void> {
  do await new Promise<void>(resolve => nextTurn(resolve))
  while (turnsAwaited > 0)
}

/** Runs the functions one after the other, even when one fails, and finally throws the first error. */
export async function runSequentially(...works: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failed: unknown[] = []
  for (const work of works) await work().catch((error: unknown) => failed.push(error))
  if (failed.length > 0) throw failed[0]
}
