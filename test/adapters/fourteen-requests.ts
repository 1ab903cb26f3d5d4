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

/** The fourteen operations by their names in docs/contracts.md, for services at one address. */
export function requestsAt(base: string): Record<string, Request> {
  return {
    'change a status': consent.writeChangeStatus(base, cpf, 'a/b c', 'ATIVO'),
    'list consents': consent.writeReading(base, 'consentimentos', cpf),
    'read a consent': consent.writeReading(base, 'consentimentos', cpf, 'id'),
    'list awareness records': consent.writeReading(base, 'ciencias', cpf),
    'read an awareness record': consent.writeReading(base, 'ciencias', cpf, 'id'),
    'read the login state': consent.writeReading(base, 'autenticacao', cpf),
    'read the login address': consent.writeReadLoginAddress(base, cpf, 'https://app.exemplo.br/?a=1&b=2'),
    'request a token': writeRequestToken(new URL('token', base).href, 'chave', 'segredo%+:'),
    'validate a person': writeValidatePerson({ baseUrl: base, service: 'demo' }, person),
    subscribe: portal.writeSubscribe(base, session, wanted),
    'list subscriptions': portal.writeList(base, session),
    'change a subscription': portal.writeChange(base, session, 7, wanted),
    'delete a subscription': portal.writeDelete(base, session, 7),
    'query failures': portal.writeFailures(base, session, '2026-11-20'),
  }
}
