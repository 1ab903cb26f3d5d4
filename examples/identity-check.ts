/** Checks a person once, from a script or cron: the same id is never paid twice, however often the script is run. */
import { openAverba } from 'averba'
import { startServices } from 'averba/simulation'

const ids = process.argv.slice(2)
if (ids.length === 0) {
  console.error('Usage: node identity-check.ts <id>...   such as order-1, an id of yours for each check')
  process.exit(1)
}
const services = await startServices() // yours: the options of averba init
const { tokenService, validationService } = services.options
// The simulated service has another port at each start. Yours keeps its address, and needs no knownAs.
const moved = { ...validationService, knownAs: 'https://validacao.exemplo.br' }
const averba = await openAverba({ store: 'identity-check.sqlite', tokenService, validationService: moved })

const claims = { nome: 'Maria de Exemplo Souza', sexo: 'F' } as const
for (const id of ids) {
  const outcome = await averba.validations.validate({ id, cpf: services.samples.cpf, claims })
  console.log(id, outcome.status, outcome.replayed ? 'answered before: nothing was paid' : 'asked now')
  if (outcome.status === 'settled') {
    for (const [field, { result }] of Object.entries(outcome.value.fields)) console.log(' ', field, result)
  } else if (outcome.status === 'declined') {
    console.log(' ', outcome.problem.status, outcome.problem.code)
  } else {
    // It may have been paid, or goes out later: run the script again, or let `averba run` continue it.
    process.exitCode = 2
  }
}
await averba.close()
await services.close()
