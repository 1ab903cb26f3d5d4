import { expect, onTestFinished, test } from 'vitest'
import { type Averba, type AverbaOptions, openAverba } from '../../../src/index.ts'
import { newPath } from '../../store/sample-store.ts'

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' } as const
const cpf = '25774435016'
const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }
const minuteMs = 60_000

/** A clock that is set by hand, back too, and engines on one file that go by it. */
async function given(options: Partial<AverbaOptions> = {}, engines = 1) {
  const time = { ms: Date.UTC(2031, 0, 1) }
  const clock = {
    now: () => time.ms,
    sleep: (_: number, signal?: AbortSignal) =>
      new Promise<void>(resolve => signal?.addEventListener('abort', () => resolve())),
  }
  const store = newPath()
  const all: Averba[] = []
  for (let i = 0; i < engines; i++) all.push(await openAverba({ store, receiver, clock, ...options }))
  onTestFinished(async () => {
    for (const each of all) await each.close()
  })
  const [averba, other] = all as [Averba, Averba] // As many as were asked for.
  return { averba, other, time }
}

async function deliver({ receiver: { fetch } }: Averba, headers: Record<string, string> = {}): Promise<void> {
  const request = new Request(receiver.publicUrl, {
    method: 'POST',
    headers: { 'event-type': 'e', 'destinatario-tipo': 'CPF', 'destinatario-id': cpf, ...headers },
    body: '{}',
  })
  expect((await fetch(request)).status).toBe(200)
}

async function copiesOf(averba: Averba): Promise<number[]> {
  const found: number[] = []
  for await (const { copies } of averba.notifications.list()) found.push(copies)
  return found
}

test('a clock that was a day ahead makes no copy of what comes again eleven minutes later', async () => {
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
})

test('a clock that is set back by a minute still finds copies', async () => {
  const { averba, time } = await given()
  await deliver(averba)
  time.ms -= minuteMs
  await deliver(averba)
  expect(await copiesOf(averba)).toEqual([2])
})

test('events whose names are not kept, since they hold a CPF, are no copies of each other', async () => {
  const { averba } = await given()
  for (const name of ['52998224725', 'e-25774435016', '52998224725'])
    await deliver(averba, { 'event-type': name })
  expect(await copiesOf(averba)).toEqual([2, 1])
})

test.each([
  ['nothing is', []],
  ['the notification is', ['notification.body']],
] as const)('what comes for a person who was erased is no copy where %s kept', async (_, keep) => {
  const { averba, other } = await given({}, 2)
  await deliver(averba)
  await deliver(other)
  await other.subjects.erase({ cpf }, { ...asked, keep: [...keep] })
  await deliver(averba)
  await deliver(other)
  expect(await copiesOf(averba)).toEqual([2, 2])
})

test('a notification that was settled in these minutes is still known by its copies', async () => {
  const { averba, other, time } = await given({ retention: { 'notification.body': 'until-settled' } }, 2)
  const handled: string[] = []
  averba.notifications.handle('e', 'count', async ({ id }) => void handled.push(id))
  await deliver(averba)
  await averba.settle()
  // Another process begins, and looks what may go.
  await other.settle()
  time.ms += minuteMs
  await deliver(averba)
  await averba.settle()
  expect(handled).toHaveLength(1)
  expect(await copiesOf(averba)).toEqual([2])
  time.ms += 1_440 * minuteMs
  await averba.settle()
  const destroyed: unknown[] = []
  for await (const { data } of averba.log.read({ types: ['retention.applied'] })) destroyed.push(data)
  expect(destroyed).toMatchObject([{ kind: 'notification.body', rule: 'until-settled' }])
})
