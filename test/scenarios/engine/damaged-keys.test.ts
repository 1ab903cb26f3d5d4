import { expect, test } from 'vitest'
import type { Fetch } from '../../../src/index.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'aviso-geral'
const day = '2026-11-20'

test('a reading whose answer cannot be recorded under a damaged key is postponed like a failed one', async () => {
  const store = temporaryStore()
  const state = { records: 1, readings: 0 }
  const record = (id: number) => ({
    ...{ id, data: '20-11-2026 09:00:01', descricao: 'x', evento },
    conteudo: `{"aviso":${id}}`,
  })
  const intercept = async (request: Request, forward: Fetch) => {
    if (!request.url.includes('/falhas')) return forward(request)
    state.readings += 1
    return Response.json(Array.from({ length: state.records }, (_, i) => record(i + 1)))
  }
  const options = {
    averba: { store, subscriptions: [{ evento, chaveSecreta: 'chave-um' }] },
    intercept,
  }
  const first = await openWorld(options)
  await applyPlan(first.averba)
  const filter = { day, recover: true }
  await first.clock.finish(first.averba.subscriptions.failures(filter))
  await first.close()

  const damage = "update owner_key set commitment = zeroblob(32) where owner like 'subscription-%'"
  expect(useDatabase(store, database => database.prepare(damage).run().changes)).toBe(1)

  state.records = 3
  const { averba, clock } = await openWorld({ ...options, seed: 2 })
  state.readings = 0
  const answer = averba.subscriptions.failures(filter).catch(({ code }) => code)
  await passTime({ averba, clock }, minuteMs, 60)
  // If it began again whenever its lease expired, it would be made 60 times.
  expect(state.readings).toBeGreaterThan(3)
  expect(state.readings).toBeLessThan(20)
  expect(await averba.effects.list({ state: 'deferred' })).toContainEqual(
    expect.objectContaining({ reason: expect.stringContaining('it was replaced by another key') }),
  )
  await answer
})
