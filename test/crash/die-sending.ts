/** A child process that kills itself when a request is about to be sent. */
import { simulate } from '../../src/simulation/index.ts'

const { path, address } = JSON.parse(process.argv[2] ?? '') as { path: string; address: string } // Written by the parent.

const world = await simulate({
  averba: { store: path },
  intercept(request, forward) {
    if (`${request.method} ${request.url}`.includes(address)) process.kill(process.pid, 'SIGKILL')
    return forward(request)
  },
})
const { averba, samples } = world
const subject = await averba.consents.enrol({ cpf: samples.cpf })
await averba.consents.sync({ subject })
const [pending] = await averba.consents.list({ subject, status: 'PENDENTE' })
await averba.consents.approve({ subject, id: pending?.id ?? '' })
await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
