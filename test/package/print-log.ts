/** Makes many calls in a simulated world, and describes its log, so that runs can be compared. As a script, prints it. */
import { samples, simulate } from '../../src/simulation/index.ts'
import { dayMs } from '../support/pass-time.ts'
import { deliver } from '../support/portal.ts'

const cpfs = [samples.cpf, '00000000191', '52998224725']

/** Describes the log of a seed: many calls at once, faults at random, and a process that crashes now and then. */
export async function describeLog(seed: number, days = 6) {
  let [crashes, canCrash] = [0, false]
  const world = await simulate({
    seed,
    averba: { subscriptions: [{ evento: 'e', endpoint: 'https://receptor.exemplo.br/averba' }], schedules: true },
    crashAt: ({ number }) => canCrash && number % 97 === 0,
    faults: [
      ...(['lose', 'reset', 'truncate'] as const).map(kind => ({ kind, percent: 6 })),
      ...[{ kind: 'delay', ms: 1_500, percent: 30 } as const, { kind: 'rejectToken', percent: 15 } as const],
      ...(['duplicate', 'reorder'] as const).map(kind => ({ kind, service: 'receiver' as const, percent: 15 })),
    ],
  })
  const { clock } = world
  for (let day = 0; day < days; day++) {
    const { consents, subscriptions, validations } = world.averba
    canCrash = true
    // A crashed engine answers nothing, and a fault is the error of its call.
    void Promise.allSettled([
      subscriptions.plan().then(plan => subscriptions.apply(plan)),
      ...cpfs.map(async cpf => consents.sync({ subject: await consents.enrol({ cpf }, { syncEveryMs: 2 * dayMs }) })),
      ...cpfs.map((cpf, i) => validations.validate({ id: `v${day}-${i}`, cpf, claims: { sexo: 'F' } })),
      ...[1, 2, 3].map(numero => deliver(world, { numero, day }, 'e')),
    ])
    void world.averba.run({ signal: new AbortController().signal })
    await clock.advance(dayMs)
    canCrash = false
    if (!world.isDown) await world.averba.close()
    else crashes += 1
    await world.restart()
  }
  const events = await Array.fromAsync(world.averba.log.read(), event => JSON.stringify(event))
  const described = { digest: await world.digest(), now: clock.now(), crashes, requests: world.requests, events }
  await world.close()
  return described
}

if (process.argv[1] === import.meta.filename) console.log(JSON.stringify(await describeLog(Number(process.argv[2]))))
