import { expect, test } from 'vitest'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

const evento = 'dimp-situacao-import'

test('notifications beyond the write queue are answered 503 and none is lost', async () => {
  const store = temporaryStore()
  const averba = await openEngine({
    ...{ store, clock: new VirtualClock() },
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    subscriptions: [{ evento, chaveSecreta: 'chave-um' }],
  })
  const statuses: number[] = []
  const notify = async (n: number) => {
    const headers = { 'event-type': evento, 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
    const request = new Request('https://receptor.exemplo.br/averba', {
      method: 'POST',
      headers: { ...headers, secret: 'chave-um' },
      body: JSON.stringify({ n }),
    })
    const { status } = await averba.receiver.fetch(request, { remoteAddress: '189.9.1.2' })
    statuses.push(status)
    return status
  }
  // The first reads the secrets, which is recorded too.
  expect(await notify(-1)).toBe(200)
  statuses.length = 0
  const other = new Sqlite(store)
  other.exec('begin immediate')
  const all = Array.from({ length: 10_050 }, (_, n) => notify(n))
  await expect.poll(() => statuses.length, { timeout: 20_000 }).toBe(50)
  expect(new Set(statuses)).toEqual(new Set([503]))
  expect((await averba.figures()).underWay.facts).toEqual({ count: 10_000, max: 10_000 })
  other.exec('rollback')
  other.close()
  const answered = await Promise.all(all)
  expect(answered.filter(status => status === 200)).toHaveLength(10_000)
  // The refused notifications are sent again and accepted.
  for (const [n, status] of answered.entries()) if (status === 503) expect(await notify(n)).toBe(200)
  const kept = await averba.views.selectFrom('notifications').select('notification').execute()
  expect(kept).toHaveLength(10_051)
}, 60_000)
