import { expect, test } from 'vitest'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { notify } from '../../support/notify.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

test('notifications beyond the write queue are answered 503 and none is lost', async () => {
  const store = temporaryStore()
  const averba = await openEngine({
    ...{ store, clock: new VirtualClock() },
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    subscriptions: [{ evento: 'e', chaveSecreta: 'chave-um' }],
  })
  const statusOf = async (n: number) => (await notify(averba, { n }, { secret: 'chave-um' })).status
  // The first reads the secrets, which is recorded too.
  expect(await statusOf(-1)).toBe(200)
  const other = new Sqlite(store)
  other.exec('begin immediate')
  const statuses: number[] = []
  const all = Array.from({ length: 10_050 }, async (_, n) => {
    const status = await statusOf(n)
    statuses.push(status)
    return status
  })
  await expect.poll(() => statuses, { timeout: 20_000 }).toEqual(Array.from({ length: 50 }, () => 503))
  expect((await averba.figures()).underWay.facts).toEqual({ count: 10_000, max: 10_000 })
  other.exec('rollback')
  other.close()
  const answered = await Promise.all(all)
  expect(answered.filter(status => status === 200)).toHaveLength(10_000)
  // The refused notifications are sent again and accepted.
  for (const [n, status] of answered.entries()) if (status === 503) expect(await statusOf(n)).toBe(200)
  const kept = await averba.views.selectFrom('notifications').select('notification').execute()
  expect(kept).toHaveLength(10_051)
}, 60_000)
