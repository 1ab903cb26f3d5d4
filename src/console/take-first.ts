import type { Averba, Call } from '../index.ts'

/** Reads the first items of a list that are wanted, and no further. */
export async function takeFirst<T>(
  all: AsyncIterable<T>,
  count: number,
  isWanted: (item: T) => boolean = () => true,
): Promise<T[]> {
  const taken: T[] = []
  for await (const each of all) {
    if (isWanted(each)) taken.push(each)
    if (taken.length >= count) break
  }
  return taken
}

/** The calls of a stream that have not ended. */
export function openCallsOf(effects: Averba['effects'], stream: string): Promise<Call[]> {
  return takeFirst(effects.list({ state: 'open' }), Number.POSITIVE_INFINITY, call => call.stream === stream)
}
