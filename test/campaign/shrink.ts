import type { Step } from './step.ts'

/** Removes steps that a failure does not need, until no more can be removed or `runsMax` is reached. */
export async function shrink(
  steps: readonly Step[],
  fails: (candidate: readonly Step[]) => Promise<boolean>,
  runsMax = 300,
): Promise<readonly Step[]> {
  let left = steps
  let runs = 0
  const tryWith = async (candidate: readonly Step[]) => {
    runs += 1
    if (await fails(candidate)) left = candidate
  }
  for (let size = Math.ceil(left.length / 2); ; size = Math.ceil(size / 2)) {
    // From the end, because steps after a failure are not needed.
    for (let end = left.length; end > 0 && runs < runsMax; end -= size)
      await tryWith([...left.slice(0, Math.max(0, end - size)), ...left.slice(end)])
    if (size <= 1) break
  }
  for (const [i, step] of left.entries()) {
    const simpler = simplerThan(step)
    if (simpler && runs < runsMax) await tryWith(left.with(i, simpler))
  }
  return left
}

function simplerThan(step: Step): Step | undefined {
  if (step.do === 'notify' && step.count * (step.copies + 1) > 1) return { ...step, count: 1, copies: 0 }
  if (step.do === 'crash' && step.crash.skip > 0) return { ...step, crash: { ...step.crash, skip: 0 } }
  if (step.do === 'fault' && (step.fault.times ?? 1) > 1) return { ...step, fault: { ...step.fault, times: 1 } }
  return undefined
}
