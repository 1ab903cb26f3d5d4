import { expect, test } from 'vitest'
import { readConsentHistory } from '../../../src/api/consents/consent-events.ts'
import { type Events, valueOf } from '../../../src/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { readConsent } from '../../support/given-consent.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'
import { basis } from './story.ts'

test('standing is answered without reading old uses and gives the position of the last one', async () => {
  const path = temporaryStore()
  const world = await openWorld({ averba: { store: path } })
  const { averba, clock } = world
  const { consents } = averba
  const { which } = await readConsent(world)
  const positions: number[] = []
  for (let use = 0; use < 40; use++) {
    await clock.advance(1_000)
    positions.push((await consents.use(which, { basis })).position)
  }
  const [last = 0, before = 0] = positions.toReversed()
  expect(await consents.standing(which)).toMatchObject({ reason: 'active', position: last })
  expect(await consents.standing(which, { knownAt: before })).toMatchObject({ position: before })
  const at = toInstant(clock.now())
  const report = JSON.parse(await averba.audit.prove({ consent: which, at, knownAt: before }))
  expect(report.answer).toMatchObject({ reason: 'active', position: before })
  const used = (events: { type: string }[]) => events.filter(({ type }) => type === 'consent.used').length
  expect([used(report.timeline), used(report.later)]).toEqual([39, 1])
  valueOf(await consents.revoke(which))
  await expect(consents.use(which, { basis })).rejects.toThrow('revoked')
  await world.close()

  const store = await openStore<Events>({ path })
  const counted = async (options?: Parameters<typeof readConsentHistory>[3]) => {
    let events = 0
    const reading: Parameters<typeof readConsentHistory>[0] = {
      lookUp: (...asked) => store.lookUp(...asked),
      async read(filter) {
        const page = await store.read(filter)
        events += page.length
        return page
      },
    }
    const history = await readConsentHistory(reading, which.subject, which.id, options)
    return { events, types: new Set(history.events.map(({ type }) => type)), last: history.last?.type }
  }
  const { events, types, last: newest } = await counted()
  expect(events).toBeLessThan(10)
  expect([...types]).toEqual(['consent.appeared', 'consent.changeRequested', 'consent.revoked'])
  expect(newest).toBe('consent.useRefused')
  expect((await counted({ withUses: true })).events).toBeGreaterThan(40)
})
