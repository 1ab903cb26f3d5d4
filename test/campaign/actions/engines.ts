import type { Averba } from '../../../src/averba/averba.ts'
import type { Box } from '../box.ts'
import { peopleCount, personOf } from '../people.ts'
import type { Performs } from '../perform.ts'
import type { Step } from '../step.ts'
import { acknowledged, acknowledging } from './acknowledging.ts'
import { erase } from './keeping.ts'
import { running } from './running.ts'
import { perform as performValidations } from './validations.ts'

const minuteMs = 60_000

/** More than one engine on a store, and engines of another version. */
export const perform: Performs<'beside' | 'pause' | 'upgrade'> = {
  async beside(box, { id, person, count, seconds }) {
    await box.open()
    const inputs = Array.from({ length: count }, (_, i) => {
      const { cpf, titular } = personOf((person + i) % peopleCount)
      return { id: `beside-${id}-${i}`, cpf, claims: { nome: titular.nome } }
    })
    box.validations.push(...inputs)
    const former = await box.openAnother()
    const work = (averba: Averba) =>
      running(averba, async () => {
        await Promise.all(inputs.map(input => averba.validations.validate(input)))
        await box.clock.sleep(seconds * 1_000)
      })
    const { life } = box
    await box.waitForAll([former, life].map(each => each.during(work(each.averba))))
    await box.closeFormer(former)
    for (const input of inputs) {
      await acknowledging(box, input.id, averba => averba.validations.validate(input), [])
    }
  },
  async pause(box, step) {
    await box.open()
    const { life, clock } = box
    const work = workOf(box, step)
    if (step.isDeclined && step.what === 'validate')
      await box.services.faults.add({ kind: 'status', status: 422, service: 'validationService', times: 1 })
    life.pauseAtAnswer()
    const working = life.during(work(life.averba))
    let isEnded = false
    void Promise.allSettled([working]).then(() => {
      isEnded = true
    })
    // It stands still with an answer that it has, or there was nothing to ask.
    await box.passWhile(() => !isEnded && !life.isPaused && !life.isOver)
    if (!life.isPaused) {
      life.resume()
      return box.waitForAll([working])
    }
    box.book.reach('engine paused')
    const former = await box.openAnother()
    await box.passUntil(clock.now() + step.minutes * minuteMs)
    if (step.erases && !box.disk.isFull) {
      const { cpf } = personOf(step.person)
      await erase(box, { cpf, commandId: `erase-paused-${step.id}`, isBusy: false, keeps: false })
    }
    await box.host.ask(work, ['OUTCOME', 'STALE_PLAN', 'PLAN_DELETES', 'NOT_FOUND'])
    // A person decides before the answer is read.
    if (step.minutes > 2) await resolveAll(box, step.id)
    former.resume()
    await box.waitForAll([working])
    await box.closeFormer(former)
  },
  async upgrade(box, { machine, view }) {
    // Opening writes the new tables down, and says so where there is no room for them.
    if (box.disk.isFull) return
    const { machines, views } = box.version
    const raised = <T extends { readonly version: number }>(all: readonly T[], which: number): T[] =>
      all.map((each, i) => (i === which % all.length ? { ...each, version: each.version + 1 } : each))
    box.version = { machines: raised(machines, machine), views: raised(views, view) }
    await box.close()
    await box.open()
    box.book.reach('engine upgraded')
  },
}

async function resolveAll(box: Box, id: number): Promise<void> {
  await performValidations.resolve(box, { do: 'resolve', isCharged: true, id: 2_000_000 + id, at: 0 })
}

function workOf(
  box: Box,
  { id, person, what }: Extract<Step, { do: 'pause' }>,
): (averba: Averba) => Promise<unknown> {
  const { cpf, titular } = personOf(person)
  switch (what) {
    case 'validate': {
      const input = { id: `paused-${id}`, cpf, claims: { nome: titular.nome } }
      box.validations.push(input)
      return acknowledged(box, input.id, averba => averba.validations.validate(input))
    }
    case 'sync':
      return averba => averba.consents.sync({ cpf })
    case 'settle':
      return averba => averba.settle()
    case 'apply':
      return async averba =>
        averba.subscriptions.apply(await averba.subscriptions.plan(), { deletions: 'refuse' })
  }
}
