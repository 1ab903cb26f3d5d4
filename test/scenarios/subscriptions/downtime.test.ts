import { expect, test } from 'vitest'
import type { World } from '../../../src/simulation/index.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const dayMs = 86_400_000

const days = ({ requests }: World) => requests.flatMap(each => /falhas\?data=(\d{8})/.exec(each.path)?.[1] ?? [])

/** Runs until the failures due in ten seconds are read, and half a minute longer. */
async function runForAWhile({ averba, clock }: World): Promise<void> {
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  for (let second = 0; second < 40; second++) {
    await clock.advance(1_000)
    // Answers are received and recorded in turns of the event loop.
    await new Promise(resolve => setImmediate(resolve))
  }
  stop.abort()
  await running
  await averba.settle()
}

test('a starting process reads the failures since the last event, once per downtime', async () => {
  const store = temporaryStore()
  const subscriptions = [{ evento, chaveSecreta: 'um' }]
  const world = await openWorld({ averba: { store, subscriptions } })
  for (const each of await world.averba.subscriptions.apply(await world.averba.subscriptions.plan()))
    expect(each.status).toBe('settled')
  await world.averba.close()
  await world.faults.add({ kind: 'refuse', service: 'receiver' })
  const notice = { evento, destinatarioTipo: 'CNPJ', destinatarioId: world.samples.cnpj } as const
  for (let day = 0; day < 2; day++) {
    await world.portal.notify({ ...notice, body: { day } })
    await world.clock.advance(dayMs)
  }
  const { clock } = world
  const fetch = world.reach.portal
  const next = await openWorld({
    seed: 2,
    averba: { store, clock, subscriptions, schedules: true, fetch: request => fetch(request) },
  })
  const again = { ...world, averba: next.averba }
  await runForAWhile(again)
  expect(new Set(days(world))).toEqual(new Set(['20112026', '21112026', '22112026']))
  const bodies = await Array.fromAsync(next.averba.notifications.list(), ({ body, origin }) => [origin, body])
  expect(bodies).toHaveLength(2)
  for (const day of [0, 1]) expect(bodies).toContainEqual(['recovered', { day }])
  const hastened = await Array.fromAsync(
    next.averba.log.read({ types: ['portal.recoveryHastened'] }),
    ({ data }) => data,
  )
  expect(hastened).toMatchObject([{ reason: 'downtime', days: [{}, {}, {}] }])
  const read = days(world).length
  await runForAWhile(again)
  expect(days(world)).toHaveLength(read)
})

test('consents that are less fresh than configured are logged once a day', async () => {
  const lines: unknown[] = []
  const consentService = {
    baseUrl: 'https://a.exemplo.br',
    certificate: { cert: '', key: '' },
    requestsPerSecond: 0.000_1,
  }
  const world = await openWorld({
    averba: {
      schedules: true,
      consentService,
      fetch: async () => new Response('', { status: 503 }),
      logger: line => void lines.push(line),
    },
  })
  await world.averba.consents.enrol({ cpf: cpfOf(1) }, { syncEveryMs: 3_600_000 })
  const told = async () => {
    await world.averba.settle()
    return lines.filter(line => JSON.stringify(line).includes('cannot be read as often as configured')).length
  }
  expect(await told()).toBe(1)
  expect(await told()).toBe(1)
  await world.clock.advance(dayMs)
  expect(await told()).toBe(2)
})
