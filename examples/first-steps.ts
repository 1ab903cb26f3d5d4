import { openAverba, valueOf } from 'averba'
import { startServices } from 'averba/simulation'

const services = await startServices() // simulated, on loopback, over real TLS: no account is needed
const averba = await openAverba({ store: 'first-steps.sqlite', ...services.options })

const subject = await averba.consents.enrol({ cpf: services.samples.cpf })
valueOf(await averba.consents.sync({ subject }))
for (const { id } of await averba.consents.list({ subject, status: 'PENDENTE' })) {
  const outcome = await averba.consents.approve({ subject, id }, { commandId: crypto.randomUUID() })
  console.log(outcome.status, valueOf(outcome).status)
}
for await (const event of averba.log.read()) console.log(event.position, event.at, event.type)
await averba.close()
await services.close()
