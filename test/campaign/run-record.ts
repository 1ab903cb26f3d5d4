import type { RecordedEvent } from '../../src/vocabulary/message.ts'
import type { Check, Checks, RunEvents, RunListeners } from './check.ts'
import type { SimulatedHost } from './simulated-host.ts'

export interface CheckFailure {
  readonly check: string
  readonly what: string
}

/** How many failures of a run are kept: the first often causes the others. */
const failuresMax = 20

/** Records a run: passes its events to the checks, collects failures, and traces it if asked to. */
export class RunRecord {
  readonly failures: CheckFailure[] = []
  /** What was read of the log, without what a restore lost. */
  readonly log: RecordedEvent[] = []
  /** The names of the faults, crash points and transitions that were reached. */
  readonly reached = new Set<string>()
  readonly logLines: unknown[] = []
  /** The current deed with the id of its step, or at the end the current check. */
  currentStep = ''
  readonly #checks = new Map<string, Check>()
  readonly #onLine: ((line: string) => void) | undefined

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine
  }

  addChecks(simulated: SimulatedHost, checks: Checks): void {
    for (const [name, create] of Object.entries(checks))
      this.#checks.set(name, create(simulated, this.fail.bind(this, name)))
  }

  fail(check: string, what: string): void {
    this.trace(`FAILED ${check}: ${what}`)
    if (this.failures.length < failuresMax) this.failures.push({ check, what })
  }

  notify<H extends keyof RunEvents>(happening: H, ...what: RunEvents[H]): void {
    for (const check of this.#checks.values()) {
      const listeners: RunListeners = check
      const listener: RunListeners[H] = listeners[happening]
      listener?.(...what)
    }
  }

  async runFinalChecks(): Promise<void> {
    for (const [name, check] of this.#checks) {
      this.currentStep = name
      await check.end?.()
    }
  }

  markReached(name: string): void {
    this.reached.add(name)
    this.trace(name)
  }

  trace(line: string): void {
    this.#onLine?.(line)
  }
}
