import { expect, test } from 'vitest'
import { answering } from '../../support/answers.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'aviso-geral'

test('a reading whose answer cannot be recorded under a damaged key is postponed like a failed one', async () => {
  const store = temporaryStore()
  let records = 1
  let readings = 0
  const isReading = ({ url }: Request) => url.includes('/falhas')
  const record = { data: '20-11-2026 09:00:01', descricao: 'x', evento }
  const intercept = answering(isReading, () => {
    readings += 1
    return Response.json(
      Array.from({ length: records }, (_, i) => ({ ...record, id: i + 1, conteudo: `{"aviso":${i}}` })),
    )
  })
  const options = { averba: { store, subscriptions: [{ evento, chaveSecreta: 'chave-um' }] }, intercept }
  const first = await openWorld(options)
  await applyPlan(first.averba)
  const filter = { day: '2026-11-20', recover: true }
  await first.clock.finish(first.averba.subscriptions.failures(filter))
  await first.close()

  const damage = "update owner_key set commitment = zeroblob(32) where owner like 'subscription-%'"
  expect(useDatabase(store, database => database.prepare(damage).run().changes)).toBe(1)

  const world = await openWorld({ ...options, seed: 2 })
  records = 3
  readings = 0
  const answer = world.averba.subscriptions.failures(filter).catch(({ code }) => code)
  await passTime(world, minuteMs, 60)
  // If it began again whenever its lease expired, it would be made 60 times.
  expect(readings).toBeGreaterThan(3)
  expect(readings).toBeLessThan(20)
  expect(await world.averba.effects.list({ state: 'deferred' })).toContainEqual(
    expect.objectContaining({ reason: expect.stringContaining('it was replaced by another key') }),
  )
  await answer
})
