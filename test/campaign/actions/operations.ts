import type { Averba } from '../../../src/averba/averba.ts'
import type { Performers } from '../perform.ts'

/** Reached when an engine has rebuilt and compared all views. */
export const viewsRebuilt = 'views rebuilt'

export const operationDeeds = {
  async settle({ host }) {
    await host.ask(averba => averba.settle())
  },
  async run({ host, clock }, { seconds }) {
    await host.ask(averba => whileRunning(averba, () => clock.sleep(seconds * 1_000)))
  },
  async operate({ host }) {
    const parked = await host.askFor(averba => averba.effects.list({ state: 'parked' }))
    for (const { id } of parked ?? []) await host.ask(averba => averba.effects.retry(id), ['REFUSED'])
    await host.ask(averba => averba.notifications.replay({ failed: true }))
    const followers = await host.askFor(averba => averba.log.followers())
    for (const { name, isParked } of followers ?? [])
      if (isParked) await host.ask(averba => averba.log.retry(name), ['NOT_FOUND'])
  },
  async hold({ host }, { which }) {
    const all = (await host.askFor(averba => averba.effects.list({ state: 'deferred' }))) ?? []
    const found = all[which % all.length]
    if (found) await host.ask(averba => averba.effects.park(found.id), ['REFUSED'])
  },
  async rebuild({ host, runRecord }) {
    const rebuilt = await host.askFor(averba => averba.rebuild())
    if (!rebuilt) return
    runRecord.markReached(viewsRebuilt)
    for (const { view, differences, examples } of rebuilt) {
      const what = `${differences} rows of ${view} differ, such as ${JSON.stringify(examples[0])}`
      if (differences > 0) runRecord.fail('views-equal-replay', what)
    }
  },
  reopen: simulated => simulated.reopen(),
} satisfies Partial<Performers>

/** Runs an engine until the work has ended, even if it fails. */
export async function whileRunning(averba: Averba, work: () => Promise<unknown>): Promise<void> {
  const stop = new AbortController()
  const run = averba.run({ signal: stop.signal })
  try {
    await work()
  } finally {
    stop.abort()
    await run
  }
}
