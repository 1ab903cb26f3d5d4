/** As they were when this was loaded: a test runner may put its own in their place, which wait for it. */
const [nextTurn, cancelTurn] = [setImmediate, clearImmediate]
/** How many waits for a turn of the event loop there are. */
let turnsAwaited = 0

/**
 * Does the work when the event loop has turned. Every wait for it goes through here: `whenQuiet` counts them.
 *
 * @returns what calls the work off, as long as it has not begun
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

/**
 * Lets the event loop turn once. Awaiting what is ready does not: work that goes on page by page has to give way, or
 * timers, sockets and signals wait for its end.
 */
export function yieldToEventLoop(): Promise<void> {
  return new Promise(resolve => afterTurn(resolve))
}

/**
 * Resolves when everything has happened that needs nothing but memory: all that is left waits for a clock or for the
 * outside. When the event loop turns, no promise is left that could go on, and what waits for a turn is counted.
 */
export async function whenQuiet(): Promise<void> {
  do await new Promise<void>(resolve => nextTurn(resolve))
  while (turnsAwaited > 0)
}

/** Does one after the other, also those behind one that fails, and then throws what the first of them failed with. */
export async function runSequentially(...works: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failed: unknown[] = []
  for (const work of works) await work().catch((error: unknown) => failed.push(error))
  if (failed.length > 0) throw failed[0]
}
