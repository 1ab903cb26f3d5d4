import { expect, test } from 'vitest'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }
const from = { remoteAddress: '189.9.1.2' }

test('two engines on one file both record their facts, and agree on which are copies', async () => {
  const store = temporaryStore()
  const engines = [await openEngine({ store, receiver }), await openEngine({ store, receiver })]
  const notification = () =>
    new Request(receiver.publicUrl, {
      method: 'POST',
      headers: { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' },
      body: '{}',
    })
  const deliveries = Array.from({ length: 40 }, (_, i) => engines[i % 2]?.receiver.fetch(notification(), from))
  const statuses = (await Promise.all(deliveries)).map(response => response?.status)
  expect(new Set(statuses)).toEqual(new Set([200]))
  for (const engine of engines) {
    const rows = await engine.views.selectFrom('notifications').selectAll().execute()
    expect(rows).toMatchObject([{ copies: 40 }])
    expect((await engine.rebuild()).every(view => view.differences === 0)).toBe(true)
  }
  const refs = await Promise.all(
    Array.from({ length: 20 }, (_, i) => engines[i % 2]?.consents.enrol({ cpf: '25774435016' })),
  )
  expect(new Set(refs).size).toBe(1)
})
