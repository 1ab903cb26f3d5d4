import type { Performers } from '../perform.ts'
import { whileRunning } from './running.ts'

/** Reached when an engine has rebuilt and compared all views. */
export const viewsRebuilt = 'views rebuilt'

/** Deeds of operators and of the process itself. */
export const perform: Performers<'settle' | 'run' | 'operate' | 'rebuild' | 'reopen' | 'hold'> = {
  async settle(box) {
    await box.host.ask(averba => averba.settle())
  },
  async run(box, { seconds }) {
    await box.host.ask(averba => whileRunning(averba, () => box.clock.sleep(seconds * 1_000)))
  },
  async operate(box) {
    const listed = await box.host.ask(averba => averba.effects.list({ state: 'parked' }))
    for (const { id } of listed && 'value' in listed ? listed.value : []) {
      await box.host.ask(averba => averba.effects.retry(id), ['REFUSED'])
    }
    await box.host.ask(averba => averba.notifications.replay({ parked: true }))
    const followers = await box.host.ask(averba => averba.log.followers())
    for (const { name, isParked } of followers && 'value' in followers ? followers.value : []) {
      if (isParked) await box.host.ask(averba => averba.log.retry(name), ['NOT_FOUND'])
    }
  },
  async hold(box, { which }) {
    const listed = await box.host.ask(averba => averba.effects.list({ state: 'deferred' }))
    const all = listed && 'value' in listed ? listed.value : []
    const found = all[which % all.length]
    if (found) await box.host.ask(averba => averba.effects.park(found.id), ['REFUSED'])
  },
  async rebuild(box) {
    const rebuilt = await box.host.ask(averba => averba.rebuild())
    if (!rebuilt || !('value' in rebuilt)) return
    box.book.markReached(viewsRebuilt)
    for (const { view, differences, examples } of rebuilt.value) {
      if (differences === 0) continue
      const what = `${differences} rows of ${view} differ, such as ${JSON.stringify(examples[0])}`
      box.book.fail('views-equal-replay', what)
    }
  },
  async reopen(box) {
    await box.close()
    await box.open()
  },
}
