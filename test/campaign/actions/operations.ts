import type { Performs } from '../perform.ts'
import { running } from './running.ts'

/** What operators and the process itself do. */
export const perform: Performs<'settle' | 'run' | 'operate' | 'rebuild' | 'reopen' | 'hold'> = {
  async settle(box) {
    await box.host.ask(averba => averba.settle())
  },
  async run(box, { seconds }) {
    await box.host.ask(averba => running(averba, () => box.clock.sleep(seconds * 1_000)))
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
    for (const { view, differences } of rebuilt && 'value' in rebuilt ? rebuilt.value : []) {
      if (differences > 0) box.book.wrong('views-equal-replay', `${differences} rows of ${view} differ`)
    }
  },
  async reopen(box) {
    await box.close()
    await box.open()
  },
}
