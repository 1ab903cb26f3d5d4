import * as consent from '../../src/adapters/consent/protocol.ts'
import * as portal from '../../src/adapters/portal/protocol.ts'
import { writeRequestToken } from '../../src/adapters/token/protocol.ts'
import { writeValidatePerson } from '../../src/adapters/validation/protocol.ts'
import { samples } from '../../src/simulation/index.ts'

/** The headers of a session at the portal, and a subscription to make there. */
export const session = { authorization: 'sessao' }
export const wanted = { evento: 'e', endpoint: 'https://a.exemplo.br/', chaveSecreta: 's', chaveAutenticacao: 'a' }

const { cpf } = samples
const person = { bearer: 't', cpf, claims: { nome: 'X' }, trace: { header: 'x-request-trace-id', id: 'v1' } }

/** The fourteen operations as the clients write them, for services at one address. */
export function requestsAt(base: string): Record<string, Request> {
  return {
    changeStatus: consent.writeChangeStatus(base, cpf, 'a/b c', 'ATIVO'),
    listConsents: consent.writeReading(base, 'consentimentos', cpf),
    readConsent: consent.writeReading(base, 'consentimentos', cpf, 'id'),
    listAwareness: consent.writeReading(base, 'ciencias', cpf),
    readAwareness: consent.writeReading(base, 'ciencias', cpf, 'id'),
    readLogin: consent.writeReading(base, 'autenticacao', cpf),
    readLoginAddress: consent.writeReadLoginAddress(base, cpf, 'https://app.exemplo.br/?a=1&b=2'),
    requestToken: writeRequestToken(new URL('token', base).href, 'chave', 'segredo%+:'),
    validatePerson: writeValidatePerson({ baseUrl: base, service: 'demo' }, person),
    subscribe: portal.writeSubscribe(base, session, wanted),
    listSubscriptions: portal.writeList(base, session),
    changeSubscription: portal.writeChange(base, session, 7, wanted),
    deleteSubscription: portal.writeDelete(base, session, 7),
    listFailures: portal.writeFailures(base, session, '2026-11-20'),
  }
}
