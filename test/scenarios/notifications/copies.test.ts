import { expect, test } from 'vitest'
import type { Averba, AverbaOptions } from '../../../src/index.ts'
import { eventsOf } from '../../support/events-of.ts'
import { notify } from '../../support/notify.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' } as const
const cpf = '25774435016'

/** Engines on one store, with a clock that is set by hand. */
async function given(options: Partial<AverbaOptions> = {}, engines = 1) {
  const time = { ms: Date.UTC(2031, 0, 1) }
  const clock = {
    now: () => time.ms,
    sleep: (_: number, signal?: AbortSignal) =>
      new Promise<void>(resolve => signal?.addEventListener('abort', () => resolve())),
  }
  const store = temporaryStore()
  const all: Averba[] = []
  for (let i = 0; i < engines; i++) all.push(await openEngine({ store, receiver, clock, ...options }))
  const [averba, other] = all as [Averba, Averba] // As many as were asked for.
  return { averba, other, time }
}

async function deliver(averba: Averba, evento = 'e'): Promise<void> {
  const headers = { 'event-type': evento, 'destinatario-tipo': 'CPF', 'destinatario-id': cpf }
  expect((await notify(averba, {}, headers)).status).toBe(200)
}

const copiesOf = (averba: Averba): Promise<number[]> =>
  Array.fromAsync(averba.notifications.list(), ({ copies }) => copies)

test('after a clock was a day ahead, the same content eleven minutes later is not a copy', async () => {
  const { averba, time } = await given()
  time.ms += 1_440 * minuteMs
  await deliver(averba)
  time.ms -= 1_440 * minuteMs
  await deliver(averba)
  time.ms += 10 * minuteMs
  await deliver(averba)
  expect(await copiesOf(averba)).toEqual([1, 2])
  time.ms += minuteMs
  await deliver(averba)
  expect(await copiesOf(averba)).toEqual([1, 2, 1])
  // A minute back is no reason for a new one.
  await deliver(averba, 'f')
  time.ms -= minuteMs
  await deliver(averba, 'f')
  expect(await copiesOf(averba)).toEqual([1, 2, 1, 2])
})

test.each([
  ['nothing is', []],
  ['the notification is', ['notification.body']],
] as const)('content for an erased person is not a copy if %s kept', async (_, keep) => {
  const { averba, other } = await given({}, 2)
  await deliver(averba)
  await deliver(other)
  await other.subjects.erase({ cpf }, { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI', keep: [...keep] })
  await deliver(averba)
  await deliver(other)
  expect(await copiesOf(averba)).toEqual([2, 2])
})

test('copies of a notification that was handled meanwhile are still found', async () => {
  const { averba, other, time } = await given({ retention: { 'notification.body': 'until-settled' } }, 2)
  const handled: string[] = []
  averba.notifications.handle('e', 'count', async ({ id }) => void handled.push(id))
  await deliver(averba)
  await averba.settle()
  // Another process applies the retention.
  await other.settle()
  time.ms += minuteMs
  await deliver(averba)
  await averba.settle()
  expect(handled).toHaveLength(1)
  expect(await copiesOf(averba)).toEqual([2])
  time.ms += 1_440 * minuteMs
  await averba.settle()
  const destroyed = await eventsOf({ averba }, 'retention.applied')
  expect(destroyed).toMatchObject([{ data: { kind: 'notification.body', rule: 'until-settled' } }])
})
