import { yieldToEventLoop } from './event-loop.ts'

/**
 * What a list gives. Awaited, it is an array of everything, read once; `for await` goes through it page by page, with
 * at most a page in memory, and reads anew each time.
 */
export type AsyncList<T> = Promise<T[]> & AsyncIterable<T>

/** Makes a list of the function that goes through its pages. Nothing is read before it is used. */
export function lazyList<T>(pages: () => AsyncIterable<readonly T[]>): AsyncList<T> {
  return new LazyList(pages)
}

class LazyList<T> implements AsyncList<T> {
  readonly [Symbol.toStringTag] = 'Listed'
  readonly #pages: () => AsyncIterable<readonly T[]>
  #all: Promise<T[]> | undefined

  constructor(pages: () => AsyncIterable<readonly T[]>) {
    this.#pages = pages
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, undefined> {
    for await (const page of yieldBetweenPages(this.#pages())) yield* page
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting it is what most hosts do.
  then: Promise<T[]>['then'] = (onFulfilled, onRejected) => this.#gather().then(onFulfilled, onRejected)
  catch: Promise<T[]>['catch'] = onRejected => this.#gather().catch(onRejected)
  finally: Promise<T[]>['finally'] = onFinally => this.#gather().finally(onFinally)

  #gather(): Promise<T[]> {
    this.#all ??= collectAll(this.#pages())
    return this.#all
  }
}

/** Gives way between two pages, so that a long list does not hold up others. */
async function* yieldBetweenPages<T>(pages: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[]> {
  for await (const page of pages) {
    yield page
    await yieldToEventLoop()
  }
}

async function collectAll<T>(pages: AsyncIterable<readonly T[]>): Promise<T[]> {
  const all: T[] = []
  for await (const page of yieldBetweenPages(pages)) for (const each of page) all.push(each)
  return all
}
