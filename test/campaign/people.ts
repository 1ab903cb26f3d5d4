import type { SubscriptionDeclaration } from '../../src/api/options.ts'
import { cpfOf } from '../crash/cpf-of.ts'

/** How many data subjects a run knows. */
export const peopleCount = 12

/** The data subject of a number. */
export function personOf(number: number) {
  const cpf = cpfOf(700_000_000 + number)
  return { cpf, titular: { cpf, nome: `CANARIO NOME ${number}`, email: `canario-${number}@exemplo.br` } }
}

/** The companies that act: controllers of consents, and those whom notifications address. */
export const companies = ['12ABC34501DE35', '00000000000191'] as const

/** What the engine wants to be notified of, each with secrets of its own. */
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

/** What the secrets are derived from that no subscription gives. */
export const secretFrom = 'canario-mestre-dos-segredos-derivados'

/** The event whose secret is derived. */
export const derivedEvento = 'ncm-alteracao'

export const eventos = subscriptions.map(each => each.evento)

/** Where notifications go to. */
export const receiverUrl = 'https://receptor.exemplo.br/averba'
