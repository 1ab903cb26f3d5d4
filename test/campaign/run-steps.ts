import { AverbaError } from '../../src/vocabulary/errors.ts'
import { Book, type Wrong } from './book.ts'
import { Box } from './box.ts'
import { checks } from './checks.ts'
import { perform } from './perform.ts'
import { settleDown } from './quiet.ts'
import { LogReader } from './read-on.ts'
import type { Step } from './step.ts'

/** What became of one run. */
export interface Ran {
  readonly seed: number
  readonly wrongs: readonly Wrong[]
  /** How many events were recorded, each counted once. */
  readonly events: number
  readonly reached: readonly string[]
  /** Of the log, byte for byte, and of those that a restore put an end to: the same steps give the same. */
  readonly digest: string
}

/** How often the log is read on. */
const readEveryMs = 7 * 86_400_000

/** Does the steps in a world of their own, then lets it settle, and says what did not hold. */
export async function runSteps(
  seed: number,
  steps: readonly Step[],
  onLine?: (line: string) => void,
): Promise<Ran> {
  const book = new Book(onLine)
  const box = new Box(seed, book)
  book.attach(box, checks)
  const start = box.clock.now()
  const reader = new LogReader(box)
  let step: Step | undefined
  try {
    let readAt = start
    for (step of steps) {
      await box.passUntil(Math.max(start + step.at, box.clock.now()))
      book.trace(`${new Date(box.clock.now()).toISOString()} ${JSON.stringify(step)}`)
      // What will be lost has been there.
      if (step.do === 'restore') reader.read()
      await perform(box, step)
      if (step.do === 'restore') reader.read()
      if (box.clock.now() - readAt < readEveryMs) continue
      readAt = box.clock.now()
      reader.read()
    }
    step = undefined
    await settleDown(box)
    reader.read()
    await book.end()
  } catch (error) {
    book.wrong('unexpected-error', `${step ? `at ${JSON.stringify(step)}: ` : ''}${describe(error)}`)
  }
  box.dispose()
  return {
    seed,
    wrongs: book.wrongs,
    events: reader.events,
    reached: [...book.reached],
    digest: reader.digest(),
  }
}

function describe(error: unknown): string {
  if (error instanceof AverbaError) return `${error.code} ${error.stack}`
  return error instanceof Error ? String(error.stack) : String(error)
}
