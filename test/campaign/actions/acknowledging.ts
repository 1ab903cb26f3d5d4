import type { Validation } from '../../../src/api/validations/validation.ts'
import type { Averba } from '../../../src/averba/averba.ts'
import type { Outcome } from '../../../src/vocabulary/outcome.ts'
import { people } from '../people.ts'
import type { SimulatedHost } from '../simulated-host.ts'

type Work<T> = (averba: Averba) => Promise<Outcome<T>>

/** Problem codes of outcomes that a person resolved. */
const verdicts = new Set(['NOT_CHARGED', 'CHARGED_WITHOUT_RESULT'])

/** Reports the answer of a command to the checks when the caller gets it, as the engine may crash right after. */
export function acknowledged<T>(simulated: SimulatedHost, commandId: string, work: Work<T>): Work<T> {
  return async averba => {
    const { engineProcess } = simulated
    const outcome = await work(averba)
    const { position, status } = outcome
    const again = () => work(simulated.averba)
    const isVerdict = outcome.status === 'declined' && verdicts.has(outcome.problem.code ?? '')
    if (!engineProcess.isDead)
      simulated.runRecord.notify('acknowledged', { commandId, position, status, isVerdict, again })
    if (outcome.status === 'settled') checkAnswer(simulated, commandId, outcome.value)
    return outcome
  }
}

/** Checks that a validation was answered for its own person and its own id. */
function checkAnswer({ validations, runRecord }: SimulatedHost, commandId: string, value: unknown): void {
  const input = validations.find(({ id }) => id === commandId)
  if (!input || typeof value !== 'object' || value === null || !('fields' in value)) return
  const { id, fields } = value as Validation // The result of `validate`.
  const isTrue = people.some(({ cpf, titular }) => cpf === input.cpf && titular.nome === input.claims.nome)
  if (id !== commandId) runRecord.fail('nothing-lost', `${commandId} got the answer of ${id}`)
  if ((fields.nome?.result === 'match') !== isTrue)
    runRecord.fail('nothing-lost', `${commandId} was answered ${fields.nome?.result}, but its claim is ${isTrue}`)
}
