import { openAverba, valueOf } from '../../src/index.ts'
import { startServices } from '../../src/simulation/index.ts'
import { temporaryStore } from '../support/temporary-folder.ts'

const services = await startServices()
const store = temporaryStore()
const averba = await openAverba({ store, ...services.options })
const { cpf } = services.samples

const subject = await averba.consents.enrol({ cpf })
const synced = valueOf(await averba.consents.sync({ subject }))
const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
const approved = valueOf(await averba.consents.approve({ subject, id: pending?.id ?? '' }))
const validation = valueOf(await averba.validations.validate({ id: 'p1', cpf, claims: { sexo: 'F' } }))
await averba.close()

const again = await openAverba({ store })
const types = await Array.fromAsync(again.log.read(), ({ type }) => type)
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
