import { expect, test } from 'vitest'
import { diagnoseStore, valueOf } from '../../../src/index.ts'
import { samples, VirtualClock } from '../../../src/simulation/index.ts'
import { views } from '../../../src/views/views.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

test('events of unknown types are kept on every stream and disturb nothing', async () => {
  const path = temporaryStore()
  const before = await openWorld({ averba: { store: path } })
  const subject = await before.averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await before.averba.consents.sync({ subject }))
  await before.averba.close()

  // Appends what a future version may record on the same streams.
  const clock = new VirtualClock()
  const store = await openStore({ path, views, clock })
  const streams = new Set((await store.read({})).map(event => event.stream))
  expect(streams.size).toBeGreaterThan(5)
  for (const stream of streams) {
    const name = stream.slice(0, stream.indexOf('-'))
    const event = { type: `${name}.dreamt`, data: { of: 'sheep' } }
    await store.append({
      at: '2026-11-20T12:00:00.000Z',
      streams: [{ stream, expect: 'exists' }],
      events: [{ stream, event, causedBy: `${name}.dream`, machine: { name, version: 99 } }],
    })
  }
  await store.close()

  const { averba, consentService } = await openWorld({ averba: { store: path } })
  consentService.addConsent({ cpf: samples.cpf, cnpj: '11222333000181' })
  expect(valueOf(await averba.consents.sync({ subject })).read).toBe(5)
  expect((await averba.rebuild()).every(each => each.differences === 0)).toBe(true)
  expect((await averba.health()).checks.filter(each => !each.ok)).toEqual([])
  const kept = (await Array.fromAsync(averba.log.read())).filter(({ type }) => String(type).endsWith('.dreamt'))
  expect(kept.map(({ stream, data }) => ({ stream, data }))).toEqual(
    [...streams].map(stream => ({ stream, data: { of: 'sheep' } })),
  )
  await averba.close()
  expect((await diagnoseStore({ store: path, isDeep: true })).problems).toEqual([])
})
