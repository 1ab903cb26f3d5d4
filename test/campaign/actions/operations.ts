import type { Performers } from '../perform.ts'
import { whileRunning } from './running.ts'

/** Reached when an engine has rebuilt and compared all views. */
export const viewsRebuilt = 'views rebuilt'

/** Deeds of operators and of the process itself. */
export const perform: Performers<'settle' | 'run' | 'operate' | 'rebuild' | 'reopen' | 'hold'> = {
  async settle(simulated) {
    await simulated.host.ask(averba => averba.settle())
  },
  async run(simulated, { seconds }) {
    await simulated.host.ask(averba => whileRunning(averba, () => simulated.clock.sleep(seconds * 1_000)))
  },
  async operate(simulated) {
    const parked = await simulated.host.askFor(averba => averba.effects.list({ state: 'parked' }))
    for (const { id } of parked ?? []) await simulated.host.ask(averba => averba.effects.retry(id), ['REFUSED'])
    await simulated.host.ask(averba => averba.notifications.replay({ failed: true }))
    const followers = await simulated.host.askFor(averba => averba.log.followers())
    for (const { name, isParked } of followers ?? []) {
      if (isParked) await simulated.host.ask(averba => averba.log.retry(name), ['NOT_FOUND'])
    }
  },
  async hold(simulated, { which }) {
    const all = (await simulated.host.askFor(averba => averba.effects.list({ state: 'deferred' }))) ?? []
    const found = all[which % all.length]
    if (found) await simulated.host.ask(averba => averba.effects.park(found.id), ['REFUSED'])
  },
  async rebuild(simulated) {
    const rebuilt = await simulated.host.askFor(averba => averba.rebuild())
    if (!rebuilt) return
    simulated.runRecord.markReached(viewsRebuilt)
    for (const { view, differences, examples } of rebuilt) {
      if (differences === 0) continue
      const what = `${differences} rows of ${view} differ, such as ${JSON.stringify(examples[0])}`
      simulated.runRecord.fail('views-equal-replay', what)
    }
  },
  async reopen(simulated) {
    await simulated.close()
    await simulated.open()
  },
}
