import assert from 'node:assert/strict'
import { test } from 'node:test'
import { valueOf } from 'averba'
import { decides, samples, scenario, shows } from 'averba/simulation'

test('a consent that was never read is not approved', () => {
  decides({
    machine: 'consent',
    when: { type: 'consent.approve', data: {} },
    expected: { refused: 'nothing is known of it' },
  })
})

test('a token that was rejected is shown as such', () => {
  shows({
    view: 'tokens',
    given: [
      {
        type: 'token.renewed',
        data: {
          ...{ generation: 1, contract: 'c1', credential: 'k1' },
          ...{ issuedAt: '2026-11-20T12:00:00.000Z', expiresAt: '2026-11-20T13:00:00.000Z' },
        },
      },
      { type: 'token.rejected', data: { generation: 1, contract: 'c1', credential: 'k1', times: 1 } },
    ],
    expected: [{ state: 'rejected', generation: 1 }],
  })
})

test('a person is validated once, and paid for once, wherever our process dies', async () => {
  const { crashes } = await scenario({
    world: { seed: 7, faults: [{ kind: 'delay', ms: 2_000, service: 'tokenService', times: 1 }] },
    given: ({ averba }) => averba.consents.enrol({ cpf: samples.cpf }),
    when: async ({ averba }) =>
      valueOf(await averba.validations.validate({ id: 'pedido-1', cpf: samples.cpf, claims: { sexo: 'F' } })),
    survivesCrashes: true,
    expected: {
      result: { state: 'answered', fields: { sexo: { result: 'match' } } },
      events: [{ type: 'token.renewed' }, { type: 'validation.answered' }],
      without: ['validation.inconclusive'],
      always: ({ validationService }) => assert(validationService.answered <= 1),
    },
  })
  assert(crashes > 10)
})
