import { expect, test } from 'vitest'
import { type LogLine, replayLog, valueOf, verifyLog } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { fillUp } from '../../support/fill-up.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const input = { id: 'a', cpf: samples.cpf, claims: { nome: 'MARIA DE EXEMPLO SOUZA' } }

/** A world whose disk is full from the moment that the first paid answer has arrived, before the caller has it. */
async function givenFullDisk(answer: (real: Response) => Response = real => real) {
  const store = temporaryStore()
  const lines: LogLine[] = []
  const [asked, mayCome] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let calls = 0
  const world = await openWorld({
    averba: { store, logger: line => void lines.push(line) },
    async intercept(request, forward) {
      const real = await forward(request)
      if (!request.url.includes('/validate/pf') || ++calls > 1) return real
      asked.resolve()
      await mayCome.promise
      return answer(real)
    },
  })
  const outcome = world.averba.validations.validate(input)
  await asked.promise
  await world.fillDisk(true)
  await fillUp(world)
  mayCome.resolve()
  await world.clock.quiet()
  const logged = () => lines.map(({ message, error }) => `${message} ${error}`)
  return { world, store, outcome, logged }
}

const waits = 'the result of a call cannot be recorded: it waits until the store can be written STORE_UNSAFE'

test('a paid answer waits while the disk is full, is logged once, and is recorded once there is space', async () => {
  const { world, store, outcome, logged } = await givenFullDisk()
  await world.clock.advance(10 * minuteMs)
  // The caller’s waiting time is over.
  expect(await outcome).toMatchObject({ status: 'pending' })
  expect(logged().slice(1)).toEqual([waits]) // The first line is about the keyring.
  await world.fillDisk(false)
  await world.clock.advance(minuteMs)
  expect(valueOf(await world.averba.validations.validate(input))).toMatchObject({
    state: 'answered',
    fields: { nome: { result: 'match' } },
  })
  expect(world.validationService.answered).toBe(1)
  expect(logged().slice(1)).toEqual([waits])
  await world.close()
  expect((await verifyLog({ store })).faults).toEqual([])
  expect((await replayLog({ store })).divergence).toBeUndefined()
})

test('a disk that is full for a second delays the caller by a second', async () => {
  const { world, outcome } = await givenFullDisk()
  await world.fillDisk(false)
  await world.clock.advance(1_000)
  expect(valueOf(await outcome).state).toBe('answered')
})

test('an outcome that certainly did nothing waits for a full disk too, and is not in doubt afterwards', async () => {
  const { world, outcome } = await givenFullDisk(() => Response.json({}, { status: 429 }))
  await world.fillDisk(false)
  await world.clock.advance(1_000)
  expect(await outcome).toMatchObject({ status: 'deferred' })
})

test('closing ends the waiting: the call is unknown for the next process and is not sent again', async () => {
  const { world, outcome, logged } = await givenFullDisk()
  const thrown = expect(outcome).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
  const before = world.clock.now()
  await world.restart()
  await thrown
  expect(world.clock.now()).toBe(before + 10_000)
  expect(logged().at(-1)).toBe('the result of a call could not be recorded before closing STORE_UNSAFE')
  await world.fillDisk(false)
  await passTime(world, 2 * minuteMs)
  expect((await world.averba.validations.get('a'))?.state).toBe('inconclusive')
  expect(world.validationService.answered).toBe(1)
})

test.each([0, 9_000])('an answer is recorded on closing if the disk has space again after %i ms', async afterMs => {
  const { world, outcome } = await givenFullDisk()
  const closed = world.averba.close()
  await world.clock.advance(afterMs)
  await world.fillDisk(false)
  await world.clock.finish(closed)
  expect(valueOf(await outcome).state).toBe('answered')
})

test('a handler whose result cannot be recorded is not called again for it', async () => {
  const evento = 'dimp-situacao-import'
  const subscriptions = [{ evento, chaveSecreta: 'um' }]
  const world = await openWorld({ averba: { store: temporaryStore(), subscriptions } })
  const { averba, clock, portal, samples } = world
  await applyPlan(averba)
  const called: number[] = []
  averba.notifications.handle(evento, 'crm', async ({ body }) => void called.push((body as { n: number }).n))
  // Its follower exists, and a lease fits where an event does not.
  await averba.settle()
  const to = { destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj } as const
  for (let n = 0; n < 30; n++) await portal.notify({ evento, ...to, body: { n } })
  await world.fillDisk(true)
  await fillUp(world)
  expect(await portal.notify({ evento, ...to, body: { n: -1 } })).toMatchObject([{ isDelivered: false }])
  startRun(world)
  await clock.advance(5 * minuteMs)
  expect(called.length).toBeGreaterThan(0)
  expect(called.length).toBeLessThan(30)
  await world.fillDisk(false)
  await clock.advance(5 * minuteMs)
  // Also the one that was answered 503: it is asked for once the disk has room.
  expect([...called].sort((a, b) => a - b)).toEqual(Array.from({ length: 31 }, (_, n) => n - 1))
  for await (const { state } of averba.notifications.list()) expect(state).toBe('handled')
})
