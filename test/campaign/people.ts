import type { SubscriptionDeclaration } from '../../src/api/options.ts'
import { cpfOf } from '../support/cpf-of.ts'

/** The number of data subjects of a run. */
export const peopleCount = 12

/** The data subject of a number. */
export function personOf(number: number) {
  const cpf = cpfOf(700_000_000 + number)
  return { cpf, titular: { cpf, nome: `CANARIO NOME ${number}`, email: `canario-${number}@exemplo.br` } }
}

/** The companies: controllers of consents, and recipients of notifications. */
export const companies = ['12ABC34501DE35', '00000000000191'] as const

/** The subscriptions of the engine, each with its own secrets. */
export const subscriptions: readonly SubscriptionDeclaration[] = [
  { evento: 'dimp-situacao-import', chaveSecreta: 'canario-secreta-um' },
  {
    evento: 'duimp-registro',
    chaveSecreta: 'canario-secreta-dois',
    chaveAutenticacao: 'Basic canario-autenticacao-dois',
  },
  { evento: 'lpco-exigencia', chaveAutenticacao: 'Basic canario-autenticacao-tres' },
  { evento: 'ncm-alteracao' },
]

/** The master secret for subscriptions without their own. */
export const secretFrom = 'canario-mestre-dos-segredos-derivados'

/** The event whose secret is derived. */
export const derivedEvento = 'ncm-alteracao'

export const eventos = subscriptions.map(each => each.evento)

/** The receiver of the notifications. */
export const receiverUrl = 'https://receptor.exemplo.br/averba'
