import { expect, test } from 'vitest'
import type { AverbaError } from '../../../src/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { hourMs, passTime } from '../../support/pass-time.ts'
import { basis } from './story.ts'

test('questions during an outage cause only two readings per kind afterwards', async () => {
  let isDown = false
  const requestCounts = new Map<string, number>()
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    if (isDown) return new Response('', { status: 503 })
    const [route = ''] = /consentimentos|ciencias|autenticacao/.exec(request.url) ?? []
    requestCounts.set(route, (requestCounts.get(route) ?? 0) + 1)
    return forward(request)
  })
  const { averba, clock } = world
  const codeOf = (asking: Promise<unknown>) => asking.then(String, (error: AverbaError) => error.code)
  isDown = true
  await clock.advance(120_000)
  // A host waits for this one, with its own command id.
  const ask = { commandId: 'of-the-host' }
  expect(await averba.consents.sync({ subject }, ask)).toMatchObject({ status: 'deferred' })
  for (let n = 0; n < 30; n++) {
    const which = { subject, id: consent.id, ageMaxMs: 60_000 }
    expect(await codeOf(averba.consents.use(which, { basis }))).toBe('CONSENT_NOT_EFFECTIVE')
    expect(await codeOf(averba.logins.state({ subject }))).toBe('OUTCOME')
    expect(await codeOf(averba.awareness.list({ subject, ageMaxMs: 0 }))).toBe('OUTCOME')
    await clock.advance(10_000)
  }
  expect(await averba.effects.list({ state: 'deferred' })).toHaveLength(7)
  isDown = false
  requestCounts.clear()
  await passTime(world, hourMs)
  expect(Object.fromEntries(requestCounts)).toEqual({ consentimentos: 3, ciencias: 2, autenticacao: 2 })
  expect(await averba.consents.sync({ subject }, ask)).toMatchObject({ status: 'settled' })
})

test('health reports an outage of days, however often questions are asked meanwhile', async () => {
  let isDown = false
  const { world, subject } = await givenConsent('ATIVO', async (request, forward) => {
    return isDown ? new Response('', { status: 503 }) : forward(request)
  })
  const { averba } = world
  isDown = true
  for (let hour = 0; hour < 30; hour++) {
    await averba.logins.state({ subject }).catch(() => undefined)
    await passTime(world, hourMs)
  }
  expect((await averba.effects.list({ state: 'parked' })).length).toBeGreaterThan(0)
  expect((await averba.health({ only: ['effects'] })).checks).toMatchObject([{ ok: false }])
})
