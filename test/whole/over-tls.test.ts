import { expect, test } from 'vitest'
import { type AverbaOptions, valueOf } from '../../src/index.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine, openServices } from '../support/world.ts'

test('a subscription is created, changed and deleted over real TLS, which averba demo does not do', async () => {
  const services = await openServices()
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] }
  const common = { store: temporaryStore(), ...services.options, receiver }
  const evento = 'dimp-situacao-import'
  const applyDeclared = async (subscriptions: NonNullable<AverbaOptions['subscriptions']>) => {
    const averba = await openEngine({ ...common, subscriptions })
    const plan = await averba.subscriptions.plan()
    const applied = (await averba.subscriptions.apply(plan, { deletions: 'allow' })).map(valueOf)
    await averba.close()
    return { actions: plan.changes.map(({ action }) => action), applied }
  }
  const active = [{ evento, state: 'active' }]
  expect(await applyDeclared([{ evento, chaveSecreta: 'um' }])).toMatchObject({ actions: ['create'], applied: active })
  const changed = await applyDeclared([{ evento, chaveSecreta: 'dois' }])
  expect(changed).toMatchObject({ actions: ['change'], applied: active })
  const deleted = [{ evento, state: 'deleted', deletedBy: 'us' }]
  expect(await applyDeclared([])).toMatchObject({ actions: ['delete'], applied: deleted })
})
