import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Tells whether code runs within a call of a handler of one log: there, nobody may wait for all handlers to end, since
 * this one is among them.
 */
export class HandlerScope {
  readonly #calls = new AsyncLocalStorage<{ isOver: boolean } | undefined>()

  /** Calls a handler. Work that it leaves behind, such as a timer, is outside once the handler has ended. */
  async within<T>(work: () => Promise<T>): Promise<T> {
    const call = { isOver: false }
    try {
      return await this.#calls.run(call, work)
    } finally {
      call.isOver = true
    }
  }

  /** Does what a handler caused, but does not wait for. */
  outside<T>(work: () => T): T {
    return this.#calls.run(undefined, work)
  }

  get isWithin(): boolean {
    return this.#calls.getStore()?.isOver === false
  }
}
