import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { valueOf } from '../../src/index.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine, openServices } from '../support/world.ts'

test('all fourteen operations and a notification work over real TLS', async () => {
  const services = await openServices()
  const { cpf, cnpj } = services.samples
  const evento = 'dimp-situacao-import'
  const common = {
    store: temporaryStore(),
    ...services.options,
  }
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] }
  const averba = await openEngine({ ...common, receiver, subscriptions: [{ evento, chaveSecreta: 'um' }] })

  const subject = await averba.consents.enrol({ cpf })
  expect(valueOf(await averba.consents.sync({ subject })).read).toBe(4)
  const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
  const id = pending?.id ?? ''
  expect((await averba.consents.get({ subject, id }))?.titular?.cpf).toBe(cpf)
  expect(valueOf(await averba.consents.deny({ subject, id })).status).toBe('NEGADO')
  const [record] = await averba.awareness.list({ subject })
  expect((await averba.awareness.get({ subject, id: record?.id ?? '' }))?.hipoteses).toHaveLength(1)
  expect((await averba.logins.state({ subject })).autenticado).toBe(false)
  expect((await averba.logins.url({ subject })).protocol).toBe('https:')
  const claims = { nome: 'MARIA DE EXEMPLO SOUZA' }
  expect(valueOf(await averba.validations.validate({ id: 'p1', cpf, claims })).fields.nome?.result).toBe('match')

  const created = await averba.subscriptions.apply(await averba.subscriptions.plan())
  expect(created.map(outcome => valueOf(outcome).state)).toEqual(['active'])
  const server = createServer({ ...services.receiver, minVersion: 'TLSv1.2' }, averba.receiver.listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  services.connect('receptor.exemplo.br', (server.address() as AddressInfo).port)
  const notice = { evento, destinatarioTipo: 'CNPJ', destinatarioId: cnpj, body: { numero: 1 } } as const
  expect(await services.portal.notify(notice)).toMatchObject([{ isDelivered: true }])
  server.closeAllConnections()
  await new Promise(resolve => server.close(resolve))
  expect(await services.portal.notify(notice)).toMatchObject([{ isDelivered: false }])
  expect(await averba.subscriptions.failures()).toHaveLength(1)
  await averba.close()

  // Other secrets, then no declaration: operations 4 and 5 of the portal.
  const changed = await openEngine({ ...common, receiver, subscriptions: [{ evento, chaveSecreta: 'dois' }] })
  const change = await changed.subscriptions.plan()
  expect(change.changes).toMatchObject([{ action: 'change' }])
  expect((await changed.subscriptions.apply(change)).map(outcome => outcome.status)).toEqual(['settled'])
  await changed.close()
  const emptied = await openEngine({ ...common, receiver })
  const deletion = await emptied.subscriptions.plan()
  const [deleted] = await emptied.subscriptions.apply(deletion, { deletions: 'allow' })
  expect(deleted && valueOf(deleted)).toMatchObject({ evento, state: 'deleted', deletedBy: 'us' })
})
