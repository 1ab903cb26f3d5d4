/**
 * One scenario for every runtime: a consent and a token over mutual TLS on a SQLite file, and the log read
 * back. Prints the results as one JSON object.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openAverba, valueOf } from '../../src/index.ts'
import { startServices } from '../../src/simulation/index.ts'

const services = await startServices()
const store = join(mkdtempSync(join(tmpdir(), 'averba-runtime-')), 'log.sqlite')
const averba = await openAverba({ store, ...services.options })
const { cpf } = services.samples

const subject = await averba.consents.enrol({ cpf })
const synced = valueOf(await averba.consents.sync({ subject }))
const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
const approved = valueOf(await averba.consents.approve({ subject, id: pending?.id ?? '' }))
const validation = valueOf(await averba.validations.validate({ id: 'p1', cpf, claims: { sexo: 'F' } }))
await averba.close()

const again = await openAverba({ store })
const types: string[] = []
for await (const event of again.log.read()) types.push(event.type)
const rebuilt = await again.rebuild()
await again.close()
await services.close()

console.log(
  JSON.stringify({
    synced,
    approved: approved.status,
    fields: validation.fields,
    tokenRequests: services.tokenService.requests,
    types,
    differences: rebuilt.reduce((sum, view) => sum + view.differences, 0),
  }),
)
