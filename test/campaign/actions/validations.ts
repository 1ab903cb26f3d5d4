import { personOf } from '../people.ts'
import type { Performs } from '../perform.ts'
import { acknowledging } from './acknowledging.ts'

/** Validations, which are paid for. */
export const perform: Performs<'validate' | 'validateAgain' | 'resolve' | 'endToken'> = {
  async validate(box, { id, person, isTrue }) {
    const { cpf, titular } = personOf(person)
    const input = {
      id: `validation-${id}`,
      cpf,
      claims: { nome: isTrue ? titular.nome : 'CANARIO RECLAMADO' },
    }
    box.validations.push(input)
    await acknowledging(box, input.id, averba => averba.validations.validate(input), [])
  },
  async validateAgain(box, { which, isOther }) {
    const input = box.validations[which % box.validations.length]
    if (!input) return
    const isKnown = await box.host.ask(averba => averba.validations.get(input.id))
    if (!isOther || !(isKnown && 'value' in isKnown && isKnown.value)) {
      await acknowledging(box, input.id, averba => averba.validations.validate(input), [])
      return
    }
    const other = { ...input, claims: { nome: 'CANARIO OUTRO' } }
    const asked = await box.host.ask(averba => averba.validations.validate(other), ['COMMAND_REUSED'])
    if (asked && 'value' in asked) box.book.wrong('one-input', `${input.id} was taken with other claims`)
  },
  async resolve(box, { id, isCharged }) {
    const codes = ['REFUSED', 'NOT_FOUND'] as const
    for (const each of box.validations) {
      const asked = await box.host.ask(averba => averba.validations.get(each.id))
      const found = asked && 'value' in asked ? asked.value : undefined
      if (found?.state !== 'inconclusive' || found.resolved) continue
      const verdict = { charged: isCharged, note: 'CANARIO NOTA' }
      const ask = { commandId: `resolve-${id}-${each.id}` }
      await box.host.ask(averba => averba.validations.resolve(each.id, verdict, ask), codes)
    }
  },
  async endToken(box) {
    box.services.tokenService.expire()
  },
}
