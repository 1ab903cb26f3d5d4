import { runSteps } from './run-steps.ts'
import type { Step } from './step.ts'

/** Leaves out what a failure does not need, piece by piece, until nothing more can go or so many runs were made. */
export async function shrink(
  seed: number,
  steps: readonly Step[],
  check: string,
  runsMax = 300,
): Promise<readonly Step[]> {
  let runs = 0
  const fails = async (candidate: readonly Step[]) => {
    runs += 1
    return (await runSteps(seed, candidate)).wrongs.some(each => each.check === check)
  }
  let left = steps
  for (let size = Math.ceil(left.length / 2); ; size = Math.ceil(size / 2)) {
    // From the end: what comes after a failure is not needed for it.
    for (let end = left.length; end > 0 && runs < runsMax; end -= size) {
      const candidate = [...left.slice(0, Math.max(0, end - size)), ...left.slice(end)]
      if (await fails(candidate)) left = candidate
    }
    if (size === 1) break
  }
  for (const [i, step] of left.entries()) {
    const smaller = simplerThan(step)
    if (!smaller || runs >= runsMax) continue
    const candidate = left.with(i, smaller)
    if (await fails(candidate)) left = candidate
  }
  return left
}

/** The same step with less in it. */
function simplerThan(step: Step): Step | undefined {
  if (step.do === 'notify' && step.count * (step.copies + 1) > 1) return { ...step, count: 1, copies: 0 }
  if (step.do === 'crash' && step.crash.skip > 0) return { ...step, crash: { ...step.crash, skip: 0 } }
  if (step.do === 'fault' && (step.fault.times ?? 1) > 1)
    return { ...step, fault: { ...step.fault, times: 1 } }
  return undefined
}
