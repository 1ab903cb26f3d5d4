import { expect, test } from 'vitest'
import { type Averba, staticHeaders } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { openBeside } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'
import { evento } from './story.ts'

const validation = 'https://val.portal.exemplo.br'
const production = 'https://portal.exemplo.br'
const endpoint = 'https://receptor.exemplo.br/outro'
const subscriptions = [{ evento, endpoint, chaveSecreta: 'um-segredo-de-exemplo' }]

/** Opens one log with any portal. */
async function given() {
  const store = temporaryStore()
  const world = await openWorld()
  const open = (baseUrl: string, more: { knownAs?: string; schedules?: boolean } = {}) => {
    const { schedules = false, ...moved } = more
    const authenticate = staticHeaders({ authorization: 'sessao-de-exemplo' })
    return openBeside(world, { store, schedules, subscriptions, portal: { baseUrl, authenticate, ...moved } })
  }
  return { world, open }
}

test.each([
  ['a plan', (averba: Averba) => averba.subscriptions.plan()],
  ['a reading of failures', async (averba: Averba) => averba.subscriptions.failures()],
  ['the daily reading', (averba: Averba) => averba.settle()],
])('a log bound to a portal by %s does not open with another portal', async (_, ask) => {
  const { open } = await given()
  const first = await open(validation, { schedules: true })
  await ask(first)
  await first.close()
  const other = await open(production).catch(error => error)
  expect(other).toMatchObject({
    code: 'MISCONFIGURED',
    message: `Cannot use portal.baseUrl: this log belongs to the one at "${validation}"`,
    hint: expect.stringContaining('knownAs'),
  })
  // The store was closed again, and slashes or capitals do not make another portal.
  const again = await open(`${validation.replace('val', 'VAL')}/`)
  await again.subscriptions.plan()
  await again.close()
  const moved = await open(production, { knownAs: validation })
  await moved.subscriptions.plan()
})

test('of two processes with different portals on a new log, the second sends nothing, not even a pending call', async () => {
  const { world, open } = await given()
  const [one, other] = [await open(validation), await open(production)]
  await world.faults.add({ kind: 'status', status: 429, retryAfterS: 60, service: 'portal', method: 'POST' })
  const applied = await one.subscriptions.apply(await one.subscriptions.plan())
  expect(applied).toMatchObject([{ status: 'deferred' }])
  world.faults.clear()
  await world.clock.advance(2 * minuteMs)
  const before = world.requests.length
  const refused = { code: 'MISCONFIGURED', hint: expect.stringContaining('knownAs') }
  await expect(other.subscriptions.plan()).rejects.toMatchObject(refused)
  await expect(Promise.resolve(other.subscriptions.failures())).rejects.toMatchObject(refused)
  expect(await other.settle()).toEqual({ settled: 0, deferred: 1, unknown: 0 })
  expect(world.requests).toHaveLength(before)
  expect(await other.health({ only: ['effects'] })).toMatchObject({
    checks: [{ ok: false, detail: expect.stringContaining('1 due calls are of another address') }],
  })
  expect(await one.settle()).toMatchObject({ settled: 1 })
  expect(await one.subscriptions.list()).toMatchObject([{ endpoint }])
  // The list, before the registration is asked for again.
  expect(world.requests).toHaveLength(before + 2)
})

test('a log belongs to the consent service of its first call: another environment tells nothing of its consents', async () => {
  const world = await openWorld()
  const store = temporaryStore()
  const open = (baseUrl: string, more: object = {}) =>
    openBeside(world, {
      store,
      consentService: consentServiceWith({ baseUrl, ...more }),
      fetch: request => world.reach.consentService(request, { clientName: 'gestora' }),
    })
  const [first, other] = [await open(validation), await open(production)]
  const subject = await first.consents.enrol({ cpf: samples.cpf })
  await first.consents.sync({ subject })
  const before = world.requests.length
  expect(await other.consents.sync({ subject })).toMatchObject({ status: 'pending' })
  expect(world.requests).toHaveLength(before)
  await other.close()
  await expect(open(production)).rejects.toMatchObject({
    code: 'MISCONFIGURED',
    message: expect.stringMatching(validation),
  })
  expect(await (await open(production, { knownAs: validation })).consents.sync({ subject })).toMatchObject({
    status: 'settled',
  })
})
