import { onTestFinished, TestRunner } from 'vitest'
import { VirtualClock } from '../../src/simulation/index.ts'

/**
 * Closes something when the running test ends, before what was opened earlier. A virtual clock moves as far as closing
 * needs. In a hook, such as `beforeAll`, the caller closes it.
 */
export function closeAtEnd<T extends { close(): unknown }>(opened: T, clock?: object): T {
  const close = async () => void (await opened.close())
  if (TestRunner.getCurrentTest())
    onTestFinished(() => (clock instanceof VirtualClock ? clock.finish(close()) : close()))
  return opened
}
