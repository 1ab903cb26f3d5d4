import { expect, test } from 'vitest'
import { lazyList } from '../../../src/runtime/lazy-list.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { countTurns } from '../../support/count-turns.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { notify } from '../../support/notify.ts'
import { dayMs } from '../../support/pass-time.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'
import { evento, openSubscribed } from './story.ts'

const recordOf = (id: number, data: string) => ({ id, data, evento, descricao: 'HTTP 500', conteudo: `{"n":${id}}` })

/** A portal with many failure records on two days. */
async function givenFailures(store: string) {
  const days: Record<string, unknown[]> = {
    '19112026': Array.from({ length: 130 }, (_, n) => recordOf(n + 1, '19-11-2026 23:59:59')),
    '20112026': Array.from({ length: 250 }, (_, n) => recordOf(1_000 - n, `20-11-2026 0${n % 7}:00:00`)),
  }
  let asked = 0
  const world = await openSubscribed({
    averba: { store },
    intercept: async (request, forward) => {
      const { pathname, searchParams } = new URL(request.url)
      if (!pathname.endsWith('/webhook/falhas')) return forward(request)
      asked += 1
      return Response.json(days[searchParams.get('data') ?? '20112026'] ?? [])
    },
  })
  return { world, asked: () => asked }
}

test('the failures of a day are listed once each, by page or as an array', async () => {
  const store = temporaryStore()
  const { world, asked } = await givenFailures(store)
  const { subscriptions } = world.averba
  const byAnswer = subscriptions.failures()
  const ids: number[] = []
  for await (const { id, conteudo } of byAnswer) {
    ids.push(id)
    expect(conteudo).toBe(`{"n":${id}}`)
  }
  expect(ids).toEqual(Array.from({ length: 250 }, (_, n) => 1_000 - n))
  expect((await byAnswer).map(each => each.id)).toEqual(ids)
  expect(asked()).toBe(1)
  expect(await subscriptions.failures({ day: '2026-11-19' })).toHaveLength(130)
  const ofToday = await subscriptions.failures({ day: '2026-11-20' })
  expect(ofToday.map(each => each.id).sort()).toEqual(ids.toSorted())
  const times = ofToday.map(each => each.data ?? '')
  expect(times).toEqual(times.toSorted())
  await world.close()
  const database = closeAtEnd(new Sqlite(store, { readOnly: true }))
  const sql = 'explain query plan select * from failures where failed_at >= ? and failed_at < ?'
  const plan = database.prepare(sql).all('2026', '2027')
  expect(plan[0]?.detail).toMatch(/^SEARCH failures USING INDEX failures_failed_at/)
})

test('a failed reading is thrown by the iteration, however late it begins', async () => {
  const world = await openWorld({ intercept: async () => Response.json({}, { status: 429 }) })
  const failures = world.averba.subscriptions.failures()
  await world.clock.advance(1_000)
  await expect(failures).rejects.toMatchObject({ code: 'OUTCOME' })
  const iterate = async () => {
    for await (const each of failures) expect.unreachable(String(each))
  }
  await expect(iterate()).rejects.toMatchObject({ code: 'OUTCOME' })
})

test('effects are listed page by page, each once, also several of one event', async () => {
  const world = await openWorld({ intercept: async () => Response.json({}, { status: 429 }) })
  const { effects, consents } = world.averba
  for (let n = 1; n <= 190; n++) await consents.enrol({ cpf: cpfOf(n) }, { syncEveryMs: dayMs })
  const seen = await Array.fromAsync(effects.list(), ({ id, state }) => `${id} ${state}`)
  expect(new Set(seen).size).toBe(190)
  expect(seen).toHaveLength(190)
  const pending = await effects.list({ state: 'pending' })
  expect(pending.map(each => `${each.id} pending`)).toEqual(seen)
  expect(await effects.list({ state: 'parked' })).toEqual([])
  // A page may end between two effects of one event.
  await world.averba.subscriptions.recoverSoon('late', '2026-11-01T00:00:00.000Z')
  const all = (await effects.list()).map(each => each.id)
  expect(all.filter(id => id.startsWith('portal-main/')).length).toBeGreaterThan(10)
  expect(new Set(all).size).toBe(all.length)
})

test('a list reads pages on demand, and all of them when awaited', async () => {
  let pages = 0
  const list = lazyList(async function* () {
    for (let page = 0; page < 3; page++) {
      pages += 1
      yield [page * 2, page * 2 + 1]
    }
  })
  expect(pages).toBe(0)
  for await (const each of list) if (each === 1) break
  expect(pages).toBe(1)
  expect(await list).toEqual([0, 1, 2, 3, 4, 5])
  expect(pages).toBe(4)
})

test('iterating a long list yields: the receiver waits for one page at most', async () => {
  const { averba } = await openWorld()
  const cpfs = Array.from({ length: 120 }, (_, n) => cpfOf(n + 1))
  for (const cpf of cpfs) await averba.consents.enrol({ cpf }, { syncEveryMs: dayMs })
  const [cpf = ''] = cpfs
  const to = { 'destinatario-tipo': 'CPF', 'destinatario-id': cpf }
  for (let n = 0; n < 250; n++) expect((await notify(averba, { n }, to)).status).toBe(200)
  const turnsDuring = async (work: () => Promise<unknown>) => (await countTurns(work)).turns
  const through = async (list: AsyncIterable<unknown>) => {
    for await (const _ of list);
  }
  const period = { from: '2026-01-01T00:00:00.000Z', until: '2027-01-01T00:00:00.000Z' }
  expect(await turnsDuring(() => through(averba.notifications.list()))).toBeGreaterThanOrEqual(2)
  expect(await turnsDuring(() => through(averba.effects.list()))).toBeGreaterThanOrEqual(1)
  expect(await turnsDuring(async () => averba.effects.list())).toBeGreaterThanOrEqual(1)
  expect(await turnsDuring(() => through(averba.audit.processing(period)))).toBeGreaterThanOrEqual(1)
  expect(await turnsDuring(() => averba.subjects.report({ cpf }))).toBeGreaterThanOrEqual(250)
})
