import { isDeepStrictEqual } from 'node:util'
import { AverbaError } from '../vocabulary/errors.ts'
import { yieldToEventLoop } from './event-loop.ts'

/**
 * The result of a list call. Awaiting it reads everything once into an array. `for await` reads it page by page, with
 * at most one page in memory, and reads again each time.
 */
export type AsyncList<T> = Promise<T[]> & AsyncIterable<T>

/** Makes a list from a function that yields its pages, and to the event loop. Reading begins when the list is used. */
export function lazyList<T>(pages: () => AsyncIterable<readonly T[]>): AsyncList<T> {
  return new LazyList(pages)
}

/**
 * Checks the last items of pages, each of which is read after the one before: one that comes again leads to the same
 * pages for ever, as a damaged index does. It is compared with one that moves on ever more rarely (Brent), so that a
 * circle of any length is found within a few rounds.
 *
 * @throws {AverbaError} `CORRUPT`
 */
function createCycleCheck<T>(): (last: T) => void {
  let kept: T | undefined
  let [pages, keepAt] = [0, 1]
  return last => {
    if (kept !== undefined && isDeepStrictEqual(last, kept))
      throw new AverbaError('CORRUPT', 'Cannot read the log: a table is damaged', {
        hint: 'Keep it unchanged and restore a backup elsewhere',
      })
    pages += 1
    if (pages < keepAt) return
    kept = last
    keepAt *= 2
  }
}

/** Reads page by page, each after the last item of the one before; other work runs between. A short one is the last. */
export async function* readPages<T>(
  rowsMax: number,
  read: (last: T | undefined) => Promise<readonly T[]>,
): AsyncGenerator<readonly T[], undefined> {
  const check = createCycleCheck<T>()
  for (let last: T | undefined; ; await yieldToEventLoop()) {
    const page = await read(last)
    last = page.at(-1)
    if (last === undefined) return
    check(last)
    yield page
    // Waiting for an empty page could last forever while other processes append.
    if (page.length < rowsMax) return
  }
}

class LazyList<T> implements AsyncList<T> {
  readonly [Symbol.toStringTag] = 'AsyncList'
  readonly #pages: () => AsyncIterable<readonly T[]>
  #all: Promise<T[]> | undefined

  constructor(pages: () => AsyncIterable<readonly T[]>) {
    this.#pages = pages
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, undefined> {
    for await (const page of this.#pages()) yield* page
  }

  // biome-ignore lint/suspicious/noThenProperty: most hosts await it.
  then: Promise<T[]>['then'] = (onFulfilled, onRejected) => this.#gather().then(onFulfilled, onRejected)
  catch: Promise<T[]>['catch'] = onRejected => this.#gather().catch(onRejected)
  finally: Promise<T[]>['finally'] = onFinally => this.#gather().finally(onFinally)

  #gather(): Promise<T[]> {
    this.#all ??= Array.fromAsync(this.#pages()).then(pages => pages.flat())
    return this.#all
  }
}
