import { simulate } from '../../src/simulation/index.ts'
import { formatError } from './check-log.ts'
import type { Findings } from './findings.ts'
import type { LoadMessage } from './load.ts'
import { subscriptions } from './notification-of.ts'

/** A seed that no load uses. */
const checkSeed = 0x7e57
/** How many of the newest commands are repeated: a crash would affect these. */
const repeatedCount = 20

/** Opens a log with the whole engine, and repeats commands that were acknowledged. */
export async function checkEngine(path: string, messages: readonly LoadMessage[]): Promise<Findings> {
  const findings: Findings = { lost: [], corrupt: [] }
  try {
    const { averba, validationService } = await simulate({ seed: checkSeed, averba: { store: path, subscriptions } })
    for (const each of messages.filter(one => one.type === 'enrolled').slice(-repeatedCount)) {
      const subject = await averba.consents.enrol({ cpf: each.cpf }, { commandId: each.commandId })
      if (subject !== each.subject) findings.lost.push(`the subject of ${each.commandId}`)
    }
    for (const { id, cpf, status } of messages.filter(one => one.type === 'validated').slice(-repeatedCount)) {
      const again = await averba.validations.validate({ id, cpf, claims: { nome: 'Maria de Exemplo' } })
      if (again.status !== status || !again.replayed) findings.lost.push(`the validation ${id}`)
    }
    if (validationService.answered > 0) findings.corrupt.push('a validation was paid twice')
    // The body that the load sends.
    const stored = await Array.fromAsync(averba.notifications.list(), ({ body }) => (body as { numero: string }).numero)
    const numbers = new Set(stored)
    for (const { number } of messages.filter(one => one.type === 'notified'))
      if (!numbers.has(number)) findings.lost.push(`the notification ${number}`)
    if (numbers.size < stored.length) findings.corrupt.push('a notification is stored twice')
    await averba.close()
  } catch (error) {
    findings.corrupt.push(`the engine cannot continue: ${formatError(error)}`)
  }
  return findings
}
