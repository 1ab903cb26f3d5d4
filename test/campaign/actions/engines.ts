import type { Averba } from '../../../src/averba/averba.ts'
import { minuteMs } from '../../../src/vocabulary/instant.ts'
import { inputOf, personOf } from '../people.ts'
import type { Performers } from '../perform.ts'
import type { SimulatedHost } from '../simulated-host.ts'
import type { Step } from '../step.ts'
import { acknowledged } from './acknowledging.ts'
import { erase } from './keeping.ts'
import { whileRunning } from './operations.ts'
import { validationDeeds } from './validations.ts'

/** Deeds with several engines on one store, and with engines of another version. */
export const engineDeeds = {
  async beside(simulated, { id, person, count, seconds }) {
    await simulated.open()
    const inputs = Array.from({ length: count }, (_, i) => inputOf(`beside-${id}-${i}`, person + i))
    simulated.validations.push(...inputs)
    const former = await simulated.openAnother()
    const work = (averba: Averba) =>
      whileRunning(averba, async () => {
        await Promise.all(inputs.map(input => averba.validations.validate(input)))
        await simulated.clock.sleep(seconds * 1_000)
      })
    const { engineProcess } = simulated
    await simulated.waitForAll([former, engineProcess].map(each => each.whileAlive(work(each.averba))))
    await simulated.closeFormer(former)
    for (const input of inputs)
      await simulated.host.ask(acknowledged(simulated, input.id, averba => averba.validations.validate(input)))
  },
  async pause(simulated, step) {
    await simulated.open()
    const { engineProcess, clock } = simulated
    const work = createWork(simulated, step)
    if (step.isDeclined && step.what === 'validate')
      await simulated.services.faults.add({ kind: 'status', status: 422, service: 'validationService', times: 1 })
    engineProcess.pauseAtAnswer()
    const working = engineProcess.whileAlive(work(engineProcess.averba))
    let isEnded = false
    void Promise.allSettled([working]).then(() => {
      isEnded = true
    })
    // The engine pauses with an unread answer, unless it had no request to send.
    await simulated.advanceWhile(() => !isEnded && !engineProcess.isPaused && !engineProcess.isDead)
    if (!engineProcess.isPaused) {
      engineProcess.resume()
      return simulated.waitForAll([working])
    }
    simulated.runRecord.markReached('engine paused')
    const former = await simulated.openAnother()
    await simulated.advanceUntil(clock.now() + step.minutes * minuteMs)
    if (step.erases && !simulated.disk.isFull)
      await erase(simulated, { cpf: personOf(step.person).cpf, commandId: `erase-paused-${step.id}` })
    await simulated.host.ask(work, ['OUTCOME', 'STALE_PLAN', 'PLAN_DELETES', 'NOT_FOUND'])
    // A person resolves the validations before the answer is read.
    if (step.minutes > 2) await validationDeeds.resolve(simulated, { id: 2_000_000 + step.id, isCharged: true })
    former.resume()
    await simulated.waitForAll([working])
    await simulated.closeFormer(former)
  },
  async upgrade(simulated, { machine, view }) {
    // Opening writes the new tables, which fails on a full disk.
    if (simulated.disk.isFull) return
    const { machines, views } = simulated.version
    const raised = <T extends { readonly version: number }>(all: readonly T[], which: number): T[] =>
      all.map((each, i) => (i === which % all.length ? { ...each, version: each.version + 1 } : each))
    simulated.version = { machines: raised(machines, machine), views: raised(views, view) }
    await simulated.reopen()
    simulated.runRecord.markReached('engine upgraded')
  },
} satisfies Partial<Performers>

function createWork(
  simulated: SimulatedHost,
  { id, person, what }: Extract<Step, { do: 'pause' }>,
): (averba: Averba) => Promise<unknown> {
  if (what === 'sync') return averba => averba.consents.sync({ cpf: personOf(person).cpf })
  if (what === 'settle') return averba => averba.settle()
  if (what === 'apply')
    return async averba => averba.subscriptions.apply(await averba.subscriptions.plan(), { deletions: 'refuse' })
  const input = inputOf(`paused-${id}`, person)
  simulated.validations.push(input)
  return acknowledged(simulated, input.id, averba => averba.validations.validate(input))
}
