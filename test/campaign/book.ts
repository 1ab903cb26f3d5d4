import type { Box } from './box.ts'
import type { Check, Happenings, Listeners, MakeCheck } from './check.ts'

/** Something that did not hold. */
export interface Wrong {
  readonly check: string
  readonly what: string
}

/** How many wrongs of a run are kept: after the first the others often follow. */
const wrongsMax = 20

/** What happens in a run, told to its checks and written down where a trace is asked for. */
export class Book {
  readonly wrongs: Wrong[] = []
  /** The names of the interesting things that were reached. */
  readonly reached = new Set<string>()
  /** What the engine told its logger. */
  readonly lines: unknown[] = []
  /** What is being done: a deed and the id of its step, or a check in the end. */
  doing = ''
  readonly #checks = new Map<string, Check>()
  readonly #onLine: ((line: string) => void) | undefined

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine
  }

  attach(box: Box, checks: Readonly<Record<string, MakeCheck>>): void {
    for (const [name, make] of Object.entries(checks)) {
      this.#checks.set(
        name,
        make(box, what => this.wrong(name, what)),
      )
    }
  }

  wrong(check: string, what: string): void {
    this.trace(`WRONG ${check}: ${what}`)
    if (this.wrongs.length < wrongsMax) this.wrongs.push({ check, what })
  }

  tell<H extends keyof Happenings>(happening: H, ...what: Happenings[H]): void {
    for (const check of this.#checks.values()) {
      const listeners: Listeners = check
      const listener: Listeners[H] = listeners[happening]
      listener?.(...what)
    }
  }

  async end(): Promise<void> {
    for (const [name, check] of this.#checks) {
      this.doing = name
      await check.end?.()
    }
  }

  reach(name: string): void {
    this.reached.add(name)
    this.trace(name)
  }

  trace(line: string): void {
    this.#onLine?.(line)
  }
}
