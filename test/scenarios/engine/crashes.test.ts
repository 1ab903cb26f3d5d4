import { expect, test } from 'vitest'
import { type SubjectRef, valueOf } from '../../../src/index.ts'
import { scenario, type World } from '../../../src/simulation/index.ts'
import { isChange } from '../../support/consent-requests.ts'
import { readConsent } from '../../support/given-consent.ts'
import { applyPlan, deliver } from '../../support/portal.ts'

const subscriptions = [{ evento: 'dimp-situacao-import' }]

/** A consent as it was last read. */
const lastRead = async ({ averba }: World, { subject, id }: { subject: SubjectRef; id: string }) =>
  (await averba.consents.list({ subject })).find(each => each.id === id)

test('wherever the process dies, a consent is as at the service, and was changed there at most once', async () => {
  const { crashes } = await scenario({
    given: async world => (await readConsent(world, 'PENDENTE')).which,
    when: ({ averba }, which) => averba.consents.approve(which, { commandId: 'c1' }),
    survivesCrashes: true,
    expected: {
      result: { status: 'settled' },
      always: async (world, which) => {
        const before = await lastRead(world, which)
        valueOf(await world.averba.consents.sync({ subject: which.subject }))
        const { status } = (await lastRead(world, which)) ?? {}
        expect(before).toMatchObject({ status, knowledge: 'known' })
        expect(world.requests.filter(isChange).length).toBeLessThanOrEqual(1)
      },
    },
  })
  expect(crashes).toBeGreaterThan(5)
})

test('wherever the process dies, an acknowledged notification is stored exactly once', async () => {
  await scenario({
    world: { averba: { subscriptions } },
    given: ({ averba }) => applyPlan(averba),
    when: world => deliver(world, {}),
    survivesCrashes: true,
    expected: {
      result: [{ isDelivered: true }],
      events: [{ type: 'notification.received' }],
      always: async ({ averba, portal }) => {
        const stored = await Array.fromAsync(averba.notifications.list())
        expect(stored.length).toBe(portal.deliveries.succeeded > 0 ? 1 : 0)
      },
    },
  })
})
