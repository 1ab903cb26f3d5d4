import type { SubscriptionDeclaration } from '../../src/api/options.ts'
import { cpfOf } from '../support/cpf-of.ts'

export const peopleCount = 12

/** The person of a number; from `peopleCount` on, somebody whom the services do not know. */
export function personOf(number: number) {
  const cpf = cpfOf(700_000_000 + number)
  return { cpf, titular: { cpf, nome: `CANARIO NOME ${number}`, email: `canario-${number}@exemplo.br` } }
}

export const people = Array.from({ length: peopleCount }, (_, number) => personOf(number))

/** The input of a validation of a data subject, with the true name unless another is claimed. */
export function inputOf(id: string, person: number, claimed?: string) {
  const { cpf, titular } = personOf(person % peopleCount)
  return { id, cpf, claims: { nome: claimed ?? titular.nome } }
}

/** The companies: controllers of consents, and recipients of notifications. */
export const companies = ['12ABC34501DE35', '00000000000191'] as const

/** The event whose secret is derived. */
export const derivedEvento = 'ncm-alteracao'

/** The subscriptions of the engine, each with its own secrets. */
export const subscriptions: readonly SubscriptionDeclaration[] = [
  { evento: 'dimp-situacao-import', chaveSecreta: 'canario-secreta-um' },
  {
    ...{ evento: 'duimp-registro', chaveSecreta: 'canario-secreta-dois' },
    chaveAutenticacao: 'Basic canario-autenticacao-dois',
  },
  { evento: 'lpco-exigencia', chaveAutenticacao: 'Basic canario-autenticacao-tres' },
  { evento: derivedEvento },
]

/** The master secret for subscriptions without their own. */
export const secretFrom = 'canario-mestre-dos-segredos-derivados'

export const eventos = subscriptions.map(each => each.evento)

export const receiverUrl = 'https://receptor.exemplo.br/averba'
