/** A child process that uses the simulated services through the whole engine, until it is killed. */
import { simulate } from '../../src/simulation/index.ts'
import { cpfOf } from '../support/cpf-of.ts'
import { type LoadOptions, sendMessage } from './load.ts'
import { createNotification, subscriptions } from './notification-of.ts'

const { path, seed, callers } = JSON.parse(process.argv[2] ?? '') as LoadOptions // Written by the parent.

const { averba } = await simulate({ seed, averba: { store: path, subscriptions } })
sendMessage({ type: 'opened' })
await Promise.all(Array.from({ length: callers }, (_, caller) => runCaller(caller)))

async function runCaller(caller: number): Promise<void> {
  for (let n = 0; ; n++) {
    const commandId = `${seed}-${caller}-${n}`
    const cpf = cpfOf((seed * 64 + caller) * 1_000 + n)
    const subject = await averba.consents.enrol({ cpf }, { commandId })
    sendMessage({ type: 'enrolled', commandId, cpf, subject })
    const id = `validation-${commandId}`
    const { status } = await averba.validations.validate({ id, cpf, claims: { nome: 'Maria de Exemplo' } })
    if (status === 'settled' || status === 'declined') sendMessage({ type: 'validated', id, cpf, status })
    const number = `26BR-${commandId}`
    const response = await averba.receiver.fetch(createNotification(number), { remoteAddress: '189.9.1.2' })
    if (response.ok) sendMessage({ type: 'notified', number })
  }
}
