import { expect, test } from 'vitest'
import { writeChangeStatus, writeReading } from '../../src/adapters/consent/protocol.ts'
import { writeRequestToken } from '../../src/adapters/token/protocol.ts'
import { type Policies, samples, seededEntropy, VirtualClock } from '../../src/simulation/index.ts'
import { createSimulators } from '../../src/simulation/services/create-simulators.ts'
import { UnsentError } from '../../src/vocabulary/connection-errors.ts'
import { Watch } from './watch.ts'

/** Checks what the services answer under other policies than the suite's against the documents. */

const { cpf } = samples
const base = 'https://consentimento.exemplo.br'

function given(policies: Policies) {
  const watch = new Watch()
  const { consentService, tokenService } = createSimulators({
    ...{ clock: new VirtualClock(), entropy: seededEntropy(1), policies },
    deliver: async () => {
      throw new UnsentError('there is no listener')
    },
  })
  return {
    watch,
    consentService,
    consents: watch.around(request => consentService.fetch(request, { clientName: 'gestora-de-exemplo' })),
    tokens: watch.around(tokenService.fetch),
  }
}

test('a 403 of operations 1 to 5 matches the document', async () => {
  const { consents, watch } = given({ consentService: { authorizedClients: [] } })
  const full = `${base}/consentimento/v1/consentimentos/${cpf}/a`
  for (const request of [
    writeChangeStatus(base, cpf, 'a', 'ATIVO'),
    writeReading(base, 'consentimentos', cpf),
    new Request(full),
    new Request(`${base}/consentimento/v1/ciencias/${cpf}`),
    writeReading(base, 'ciencias', cpf, 'a'),
  ])
    expect((await consents(request)).status).toBe(403)
  expect(watch.answers.size).toBe(5)
  expect(watch.violations).toEqual([])
})

test('a 409, and a 400 for a missing record, match the document', async () => {
  const { consents, consentService, watch } = given({
    consentService: { moveOutsideTable: 'conflict', missingRecord: 'badRequest' },
  })
  const id = consentService.addConsent({ cpf, status: 'NEGADO' })
  expect((await consents(writeChangeStatus(base, cpf, id, 'ATIVO'))).status).toBe(409)
  expect((await consents(writeChangeStatus(base, cpf, 'a', 'ATIVO'))).status).toBe(400)
  expect([...watch.answers.keys()]).toEqual(['changeStatus 409', 'changeStatus 400'])
  expect(watch.violations).toEqual([])
})

test('an error of the token endpoint in XML matches the document', async () => {
  const { tokens, watch } = given({ tokenService: { errors: 'xml' } })
  const response = await tokens(writeRequestToken('https://gateway.exemplo.br/token', 'outra', 'chave'))
  expect(response.headers.get('content-type')).toBe('application/xml')
  expect([...watch.answers.keys()]).toEqual(['requestToken 401'])
  expect(watch.violations).toEqual([])
})
