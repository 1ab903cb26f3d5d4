import type { Validation } from '../../../src/api/validations/validation.ts'
import type { Averba } from '../../../src/averba/averba.ts'
import type { ErrorCode } from '../../../src/vocabulary/errors.ts'
import type { Outcome } from '../../../src/vocabulary/outcome.ts'
import type { Box } from '../box.ts'
import type { Asked } from '../host.ts'
import { peopleCount, personOf } from '../people.ts'

/** The true names, by CPF. */
const people = new Map(
  Array.from({ length: peopleCount }, (_, person) => personOf(person)).map(({ cpf, titular }) => [
    cpf,
    titular.nome,
  ]),
)

type Work<T> = (averba: Averba) => Promise<Outcome<T>>

/** What a person found out of a call in doubt. */
const verdicts = new Set(['NOT_CHARGED', 'CHARGED_WITHOUT_RESULT'])

/**
 * Tells the checks what a command is answered, at the moment at which the caller has it: a host may have passed it on
 * before the engine dies.
 */
export function acknowledged<T>(box: Box, commandId: string, work: Work<T>): Work<T> {
  return async averba => {
    const { life } = box
    const outcome = await work(averba)
    const { position, status } = outcome
    const again = () => work(box.averba)
    const isVerdict = outcome.status === 'declined' && verdicts.has(outcome.problem.code ?? '')
    if (!life.isOver) box.book.tell('acknowledged', { commandId, position, status, isVerdict, again })
    if (outcome.status === 'settled') checkAnswer(box, commandId, outcome.value)
    return outcome
  }
}

/** What a validation was answered is the service's own truth of that person, and of that validation. */
function checkAnswer({ validations, book }: Box, commandId: string, value: unknown): void {
  const input = validations.find(({ id }) => id === commandId)
  if (!input || typeof value !== 'object' || value === null || !('fields' in value)) return
  const { id, fields } = value as Validation // What `validate` gives.
  const isTrue = people.get(input.cpf) === input.claims.nome
  if (id !== commandId) book.wrong('nothing-lost', `${commandId} was given the answer to ${id}`)
  if ((fields.nome?.result === 'match') !== isTrue)
    book.wrong('nothing-lost', `${commandId} was answered ${fields.nome?.result}, and its claim is ${isTrue}`)
}

/** Asks for something under a command id, and tells the checks what it was answered. */
export function acknowledging<T>(
  box: Box,
  commandId: string,
  work: Work<T>,
  expected: readonly ErrorCode[],
): Promise<Asked<Outcome<T>>> {
  return box.host.ask(acknowledged(box, commandId, work), expected)
}
