import type { ValidationInput } from '../../../src/api/validations/validations.ts'
import type { ErrorCode } from '../../../src/vocabulary/errors.ts'
import type { AskResult } from '../host.ts'
import { peopleCount, personOf } from '../people.ts'
import type { Performers } from '../perform.ts'
import type { SimulatedHost } from '../simulated-host.ts'
import { askWithAcknowledgement, withAcknowledgement } from './acknowledging.ts'

const hourMs = 3_600_000

/** Deeds about validations, which cost money. */
export const perform: Performers<'validate' | 'validateAgain' | 'payAgain' | 'resolve' | 'endToken'> = {
  async validate(simulated, { id, person, isTrue, count, hours }) {
    const inputs = Array.from({ length: count }, (_, i) => {
      const { cpf, titular } = personOf((person + i) % peopleCount)
      const claims = { nome: isTrue ? titular.nome : 'CANARIO RECLAMADO' }
      return { id: `validation-${id}-${i}`, cpf, claims, ...(hours > 0 && { reuseWithinMs: hours * hourMs }) }
    })
    simulated.validations.push(...inputs)
    // First concurrently, as from many requests of a server; then one by one, in case the engine crashed.
    const works = inputs.map(input =>
      withAcknowledgement(simulated, input.id, averba => averba.validations.validate(input)),
    )
    await simulated.host.ask(averba => Promise.allSettled(works.map(work => work(averba))))
    for (const work of works) await simulated.host.ask(work)
  },
  async payAgain(simulated, { id, which }) {
    const input = simulated.validations[which % simulated.validations.length]
    if (!input) return
    const again = {
      id: `again-${id}`,
      cpf: input.cpf,
      claims: input.claims,
      again: { of: input.id, reason: 'CANARIO' },
    }
    if (await validate(simulated, again)) simulated.validations.push(again)
  },
  async validateAgain(simulated, { which, isOther }) {
    const input = simulated.validations[which % simulated.validations.length]
    if (!input) return
    const known = await simulated.host.askFor(averba => averba.validations.get(input.id))
    if (!isOther || !known) {
      await validate(simulated, input)
      return
    }
    const other = { ...input, claims: { nome: 'CANARIO OUTRO' } }
    const outcome = await simulated.host.askFor(averba => averba.validations.validate(other), ['COMMAND_REUSED'])
    if (outcome) simulated.runRecord.fail('one-input', `${input.id} was accepted with other claims`)
  },
  async resolve(simulated, { id, isCharged }) {
    const codes = ['REFUSED', 'NOT_FOUND'] as const
    // Includes those whose answer the host never got because the engine crashed.
    const open = await simulated.host.askFor(async averba => {
      const ids: string[] = []
      for await (const each of averba.validations.list({ state: 'inconclusive' })) ids.push(each.id)
      return ids
    })
    for (const each of open ?? []) {
      const verdict = { charged: isCharged, note: 'CANARIO NOTA' }
      const ask = { commandId: `resolve-${id}-${each}` }
      await simulated.host.ask(averba => averba.validations.resolve(each, verdict, ask), codes)
    }
  },
  async endToken(simulated) {
    simulated.services.tokenService.expire()
  },
}

/** Requests a validation, and reports whether it was accepted. */
async function validate(simulated: SimulatedHost, input: ValidationInput): Promise<boolean> {
  const ask = (codes: readonly ErrorCode[]) =>
    askWithAcknowledgement(simulated, input.id, averba => averba.validations.validate(input), codes)
  if (!input.again || simulated.paidAgain.has(input.id)) return isAccepted(await ask([]))
  // New to the log. The validation that it repeats may be lost with a restore, answered, or already repeated.
  const codes = ['NOT_FOUND', 'REFUSED'] as const
  // A person who was erased and enrolled again is a new subject.
  const asked = await ask([...codes, ...(simulated.erased.size > 0 ? (['INVALID_INPUT'] as const) : [])])
  if (isAccepted(asked)) simulated.paidAgain.set(input.id, asked.value.position)
  return isAccepted(asked)
}

function isAccepted<T>(asked: AskResult<T>): asked is { readonly value: T } {
  return asked !== undefined && 'value' in asked
}
