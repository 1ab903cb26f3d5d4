import type { ValidationInput } from '../../../src/api/validations/validations.ts'
import { hourMs } from '../../../src/vocabulary/instant.ts'
import { inputOf } from '../people.ts'
import type { Performers } from '../perform.ts'
import type { SimulatedHost } from '../simulated-host.ts'
import { acknowledged } from './acknowledging.ts'

export const validationDeeds = {
  async validate(simulated, { id, person, isTrue, count, hours }) {
    const inputs = Array.from({ length: count }, (_, i) => ({
      ...inputOf(`validation-${id}-${i}`, person + i, isTrue ? undefined : 'CANARIO RECLAMADO'),
      ...(hours > 0 && { reuseWithinMs: hours * hourMs }),
    }))
    simulated.validations.push(...inputs)
    // First concurrently, as from many requests of a server; then one by one, in case the engine crashed.
    const works = inputs.map(input => acknowledged(simulated, input.id, averba => averba.validations.validate(input)))
    await simulated.host.ask(averba => Promise.allSettled(works.map(work => work(averba))))
    for (const work of works) await simulated.host.ask(work)
  },
  async payAgain(simulated, { id, which }) {
    const input = simulated.validations[which % simulated.validations.length]
    if (!input) return
    const { cpf, claims } = input
    const again = { id: `again-${id}`, cpf, claims, again: { of: input.id, reason: 'CANARIO' } }
    if (await validate(simulated, again)) simulated.validations.push(again)
  },
  async validateAgain(simulated, { which, isOther }) {
    const input = simulated.validations[which % simulated.validations.length]
    if (!input) return
    const known = await simulated.host.askFor(averba => averba.validations.get(input.id))
    if (!isOther || !known) return void (await validate(simulated, input))
    const other = { ...input, claims: { nome: 'CANARIO OUTRO' } }
    const outcome = await simulated.host.askFor(averba => averba.validations.validate(other), ['COMMAND_REUSED'])
    if (outcome) simulated.runRecord.fail('one-input', `${input.id} was accepted with other claims`)
  },
  async resolve({ host }, { id, isCharged }: { readonly id: number; readonly isCharged: boolean }) {
    // Includes those whose answer the host never got because the engine crashed.
    const open = await host.askFor(averba =>
      Array.fromAsync(averba.validations.list({ state: 'inconclusive' }), each => each.id),
    )
    for (const each of open ?? []) {
      const verdict = { charged: isCharged, note: 'CANARIO NOTA' }
      const ask = { commandId: `resolve-${id}-${each}` }
      await host.ask(averba => averba.validations.resolve(each, verdict, ask), ['REFUSED', 'NOT_FOUND'])
    }
  },
  async endToken({ services }) {
    services.tokenService.expire()
  },
} satisfies Partial<Performers>

/** Requests a validation, and reports whether it was accepted. */
async function validate(simulated: SimulatedHost, input: ValidationInput): Promise<boolean> {
  const { host, paidAgain, erased } = simulated
  const work = acknowledged(simulated, input.id, averba => averba.validations.validate(input))
  const isNew = input.again !== undefined && !paidAgain.has(input.id)
  // A new one may repeat a validation that is lost with a restore, answered, or already repeated. A person who was
  // erased and enrolled again is a new subject.
  const codes = ['NOT_FOUND', 'REFUSED', ...(erased.size > 0 ? (['INVALID_INPUT'] as const) : [])] as const
  const asked = await host.askFor(work, isNew ? codes : [])
  if (isNew && asked) paidAgain.set(input.id, asked.position)
  return asked !== undefined
}
