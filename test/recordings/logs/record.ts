/**
 * Records a log of today's version, once for each version whose logs have to open for ever:
 * `node test/recordings/logs/record.ts v1`. Never run again for a version that was released.
 */
import { copyFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportBundle, valueOf } from '../../../src/index.ts'
import { simulate } from '../../../src/simulation/index.ts'
import { readLogContent } from '../../support/shown-of.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'

const name = process.argv[2] ?? ''
const target = join(import.meta.dirname, name)
if (name === '' || existsSync(`${target}.log`)) throw new TypeError('Name a version that has no log yet')

const path = temporaryStore()
const subscriptions = [{ evento: 'dimp-situacao-import', chaveSecreta: 'segredo-de-exemplo' }]
const world = await simulate({ averba: { store: path, subscriptions } })
const { averba, samples, portal, clock, faults } = world
const subject = await averba.consents.enrol({ cpf: samples.cpf }, { actor: { kind: 'system', ref: 'recorder' } })
valueOf(await averba.consents.sync({ subject }))
const [first, second] = await averba.consents.list({ subject, status: 'PENDENTE' })
await averba.consents.get({ subject, id: first?.id ?? '' })
valueOf(await averba.consents.approve({ subject, id: first?.id ?? '' }, { commandId: 'approve-1' }))
valueOf(await averba.consents.revoke({ subject, id: first?.id ?? '' }))
await faults.add({ kind: 'lose', method: 'PUT', times: 1 })
await averba.consents.deny({ subject, id: second?.id ?? '' })
await averba.consents.approve({ subject, id: first?.id ?? '' }, { commandId: 'refused-1' }).catch(() => undefined)
const [record] = await averba.awareness.list({ subject, ageMaxMs: 0 })
await averba.awareness.get({ subject, id: record?.id ?? '' })
await averba.logins.state({ subject, ageMaxMs: 0 })
await averba.logins.url({ subject })
const claims = { nome: 'Maria de Exemplo Souza', sexo: 'F' }
valueOf(await averba.validations.validate({ id: 'order-1', cpf: samples.cpf, claims }))
await faults.add({ kind: 'lose', service: 'validationService', times: 1 })
await averba.validations.validate({ id: 'order-2', cpf: samples.cpf, claims })
for (const made of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(made)
const notice = { evento: 'dimp-situacao-import', destinatarioId: samples.cnpj } as const
for (const numero of ['26BR1', '26BR2', '26BR2'])
  await portal.notify({ ...notice, destinatarioTipo: 'CNPJ', body: { numero } })
const toPerson = { destinatarioTipo: 'CPF', destinatarioId: samples.cpf } as const
await portal.notify({ ...notice, ...toPerson, body: { numero: '26BR3' } })
await faults.add({ kind: 'status', status: 503, service: 'receiver', times: 1 })
await portal.notify({ ...notice, destinatarioTipo: 'CNPJ', body: { numero: '26BR4' } })
await averba.subscriptions.failures()
await clock.advance(24 * 3_600_000)
await averba.settle()
await world.close()

useDatabase(path, database => {
  database.pragma('journal_mode = delete')
  database.exec('vacuum')
})
copyFileSync(path, `${target}.log`)
copyFileSync(`${path}.keys`, `${target}.keyring`)
await exportBundle({ store: path, dir: `${target}.bundle` })
writeFileSync(`${target}.json`, await readLogContent(path))
