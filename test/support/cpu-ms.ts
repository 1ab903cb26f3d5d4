/**
 * Runs a function three times, and returns the milliseconds of the processor that the fastest run took. Other work of
 * the machine does not count, and neither does the first compilation.
 */
export async function cpuMs(run: () => unknown): Promise<number> {
  let fastest = Number.POSITIVE_INFINITY
  for (let i = 0; i < 3; i++) {
    const began = process.threadCpuUsage()
    await run()
    const { user, system } = process.threadCpuUsage(began)
    fastest = Math.min(fastest, (user + system) / 1_000)
  }
  return fastest
}
