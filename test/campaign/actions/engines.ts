import type { Averba } from '../../../src/averba/averba.ts'
import { peopleCount, personOf } from '../people.ts'
import type { Performers } from '../perform.ts'
import type { SimulatedHost } from '../simulated-host.ts'
import type { Step } from '../step.ts'
import { askWithAcknowledgement, withAcknowledgement } from './acknowledging.ts'
import { erase } from './keeping.ts'
import { whileRunning } from './running.ts'
import { perform as performValidations } from './validations.ts'

const minuteMs = 60_000

/** Deeds with several engines on one store, and with engines of another version. */
export const perform: Performers<'beside' | 'pause' | 'upgrade'> = {
  async beside(simulated, { id, person, count, seconds }) {
    await simulated.open()
    const inputs = Array.from({ length: count }, (_, i) => {
      const { cpf, titular } = personOf((person + i) % peopleCount)
      return { id: `beside-${id}-${i}`, cpf, claims: { nome: titular.nome } }
    })
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
    for (const input of inputs) {
      await askWithAcknowledgement(simulated, input.id, averba => averba.validations.validate(input), [])
    }
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
    if (step.erases && !simulated.disk.isFull) {
      const { cpf } = personOf(step.person)
      await erase(simulated, { cpf, commandId: `erase-paused-${step.id}`, isBusy: false, keeps: false })
    }
    await simulated.host.ask(work, ['OUTCOME', 'STALE_PLAN', 'PLAN_DELETES', 'NOT_FOUND'])
    // A person resolves the validations before the answer is read.
    if (step.minutes > 2) await resolveInconclusive(simulated, step.id)
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
    await simulated.close()
    await simulated.open()
    simulated.runRecord.markReached('engine upgraded')
  },
}

async function resolveInconclusive(simulated: SimulatedHost, id: number): Promise<void> {
  await performValidations.resolve(simulated, { do: 'resolve', isCharged: true, id: 2_000_000 + id, at: 0 })
}

function createWork(
  simulated: SimulatedHost,
  { id, person, what }: Extract<Step, { do: 'pause' }>,
): (averba: Averba) => Promise<unknown> {
  const { cpf, titular } = personOf(person)
  switch (what) {
    case 'validate': {
      const input = { id: `paused-${id}`, cpf, claims: { nome: titular.nome } }
      simulated.validations.push(input)
      return withAcknowledgement(simulated, input.id, averba => averba.validations.validate(input))
    }
    case 'sync':
      return averba => averba.consents.sync({ cpf })
    case 'settle':
      return averba => averba.settle()
    case 'apply':
      return async averba => averba.subscriptions.apply(await averba.subscriptions.plan(), { deletions: 'refuse' })
  }
}
