import { expect, test, vi } from 'vitest'
import { eventsOf } from '../../support/events-of.ts'
import { notify } from '../../support/notify.ts'
import { hourMs } from '../../support/pass-time.ts'
import { statusOf } from '../../support/portal.ts'
import { openWorld } from '../../support/world.ts'

const publicUrl = 'https://receptor.exemplo.br/averba'

test('what shows no secret is stored up to a quota an hour, beside which proven notifications go on', async () => {
  const world = await openWorld({
    averba: {
      receiver: { publicUrl, sources: 'any', unprovenBytesPerHourMax: 3 * 5_000 },
      subscriptions: [{ evento: 'proven', chaveSecreta: 'segredo' }, { evento: 'open' }],
    },
  })
  const { averba, clock, lines } = world
  const statuses = (...sent: [string, string][]) =>
    Array.fromAsync(sent, ([secret, evento]) => statusOf(averba, secret, evento))
  // Each costs little more than 4 KiB.
  const open = await statuses(['', 'unknown'], ['', 'open'], ['', 'unknown'], ['', 'open'], ['', 'unknown'])
  expect(open).toEqual([200, 200, 200, 503, 503])
  const [pull, headers] = [vi.fn(), { 'event-type': 'unknown', 'content-length': '9' }]
  const streamed = { body: new ReadableStream({ pull }, { highWaterMark: 0 }), duplex: 'half' }
  await averba.receiver.fetch(new Request(publicUrl, { method: 'POST', headers, ...streamed }))
  expect(pull).not.toHaveBeenCalled()
  expect(await statuses(['segredo', 'proven'], ['segredo', 'unknown'], ['outra', 'proven'])).toEqual([200, 503, 401])
  const [check] = (await averba.health({ only: ['receiver'] })).checks
  expect(check).toMatchObject({ ok: false, detail: expect.stringMatching(/open 1 QUOTA_SPENT.*raise receiver/s) })
  expect(lines.filter(({ error }) => error === 'QUOTA_SPENT').map(({ evento }) => evento)).toEqual(['open', undefined])
  // The portal has a failure record of what it sent: it is read soon, and not for each refusal.
  expect(await eventsOf(world, 'portal.recoveryHastened')).toMatchObject([{ data: { reason: 'unstored' } }])
  await clock.advance(hourMs / 3)
  expect(await statuses(['', 'open'], ['', 'open'])).toEqual([200, 503])
  await clock.advance(10 * hourMs)
  expect(await statuses(['', 'open'], ['', 'open'], ['', 'open'], ['', 'open'])).toEqual([200, 200, 200, 503])
})

test('the largest body of a notification is an option, and health says what was refused for it', async () => {
  const { averba } = await openWorld({
    averba: { receiver: { publicUrl, sources: 'any', bodyBytesMax: 100 }, subscriptions: [{ evento: 'open' }] },
  })
  /** Sends a body of so many bytes, quotation marks included. */
  const send = async (bytes: number) => (await notify(averba, 'x'.repeat(bytes - 2), { 'event-type': 'open' })).status
  const check = async () => (await averba.health({ only: ['receiver'] })).checks[0]
  expect(await send(101)).toBe(413)
  const detail = expect.stringMatching(/open 1 BODY_TOO_LARGE: .*raise receiver\.bodyBytesMax/)
  expect(await check()).toMatchObject({ ok: false, detail })
  expect(await send(100)).toBe(200)
  expect(await check()).toMatchObject({ ok: true })
})
