import { expect, test } from 'vitest'
import { readFailures } from '../../../src/adapters/portal/protocol.ts'
import { valueOf } from '../../../src/index.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { bodiesOf } from '../../support/portal.ts'
import { evento, openSubscribed } from './story.ts'

const day = '2026-11-20'

/** A portal with many failures of a day, none of which reached the receiver. */
async function givenLost(count: number, contentLength: number, failuresBytesMax?: number) {
  const records = Array.from({ length: count }, (_, i) => {
    const conteudo = JSON.stringify({ numero: i, mensagens: 'x'.repeat(contentLength) })
    return { id: i + 1, data: '20-11-2026 08:00:00', descricao: 'HTTP 503', evento, conteudo }
  })
  const world = await openSubscribed({
    averba: {
      portal: {
        baseUrl: 'https://portal.exemplo.br',
        authenticate: async () => ({ authorization: 'sessao-de-exemplo' }),
        ...(failuresBytesMax !== undefined && { failuresBytesMax }),
      },
    },
    async intercept(request, forward) {
      return request.url.endsWith('/falhas?data=20112026') ? Response.json(records) : forward(request)
    },
  })
  const { averba, lines } = world
  /** How many different notifications are in the inbox. */
  const inbox = async () => new Set((await bodiesOf(averba)).map(body => JSON.stringify(body))).size
  const settle = (minutes: number) => passTime(world, minuteMs, minutes)
  return { averba, records, lines, inbox, settle }
}

test('a day of 5 MiB is recovered completely and only once', async () => {
  const { averba, inbox } = await givenLost(200, 26_000)
  const recover = async () => (await averba.subscriptions.recover(day)).map(valueOf)[1]
  expect(await recover()).toMatchObject({ day, read: 200, recovered: 200, stored: 0, unreadable: 0 })
  expect(await inbox()).toBe(200)
  expect(await recover()).toMatchObject({ read: 200, recovered: 0, stored: 0 })
  expect(await averba.subscriptions.failures({ day })).toHaveLength(200)
})

test('failures are accepted up to the size limit; a longer list of anything else is not', async () => {
  const record = { id: 1, data: '20-11-2026 08:00:00', descricao: '', evento, conteudo: '{}' }
  const records = Array.from({ length: 15_000 }, (_, id) => ({ ...record, id }))
  expect((await readFailures(JSON.stringify(records)))?.items).toHaveLength(15_000)
  const sevens = readFailures(JSON.stringify(Array.from({ length: 50_000 }, () => 7)))
  await expect(sevens).rejects.toThrow('more than 11562 records')
})

test('a day over the limit is logged and recovered after a retry with a higher limit', async () => {
  const { averba, records, lines, inbox, settle } = await givenLost(20, 100, 3_000)
  const [, outcome] = await averba.subscriptions.recover(day)
  expect(outcome).toMatchObject({ status: 'deferred' })
  await settle(5)
  const [parked, ...others] = await averba.effects.list({ state: 'parked' })
  expect(others).toEqual([])
  const why = 'ANSWER_TOO_LARGE: the answer is larger than portal.failuresBytesMax: given up after 3 attempts'
  expect(lines).toMatchObject([
    { message: expect.stringMatching(/^an answer is too large for the portal: .*raise .*portal\.failuresBytesMax/) },
    { message: 'a call is parked: effects.retry releases it', detail: `portal.listFailures ${parked?.id}: ${why}` },
  ])
  const detail = expect.stringMatching(/ANSWER_TOO_LARGE.*effects\.list/)
  expect((await averba.health({ only: ['effects'] })).checks).toMatchObject([{ ok: false, detail }])
  expect(await inbox()).toBe(0)
  // Fewer records have the same effect as a higher limit, which would need another process.
  records.length = 10
  await averba.effects.retry(parked?.id ?? '', { actor: { kind: 'person', ref: 'operadora-7' } })
  await settle(1)
  expect(await inbox()).toBe(10)
})

test.each([0, 1.5, 256 * 1_048_576 + 1])('portal.failuresBytesMax %d is refused', async failuresBytesMax => {
  await expect(givenLost(0, 0, failuresBytesMax)).rejects.toMatchObject({ code: 'MISCONFIGURED' })
})
