import { expect, test } from 'vitest'
import { createConsentClient } from '../../src/adapters/consent/client.ts'
import { staticHeaders } from '../../src/adapters/portal/authentication.ts'
import { createPortalClient } from '../../src/adapters/portal/client.ts'
import { createTokenClient } from '../../src/adapters/token/client.ts'
import { createValidationClient } from '../../src/adapters/validation/client.ts'
import { hostToken } from '../../src/api/validations/tokens.ts'
import { VirtualClock } from '../../src/simulation/index.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import type { Json, PendingEffect } from '../../src/vocabulary/message.ts'
import type { Performers } from '../../src/vocabulary/performer.ts'
import { noKeeper } from '../support/no-keeper.ts'
import { describedBy, operations } from './described.ts'
import { checkRequest } from './violations.ts'

/** Checks what the clients send against the request side of the documents. */

const claims = {
  nome: 'ANA DE EXEMPLO',
  sexo: 'F',
  nacionalidade: 1,
  filiacao: { nome_mae: 'EVA', nome_pai: 'IVO' },
  documento: { tipo: 2, numero: '2', orgao_expedidor: 'SSP', uf_expedidor: 'RJ' },
  endereco: {
    logradouro: 'RUA UM',
    numero: '10',
    complemento: 'A',
    bairro: 'B',
    cep: 'C',
    municipio: 'M',
    uf: 'RJ',
  },
  cnh: {
    categoria: 'AB',
    numero_registro: '2',
    data_primeira_habilitacao: '2010-03-01',
    data_validade: '2031-03-01',
    registro_nacional_estrangeiro: 'X1',
    data_ultima_emissao: '2021-03-01',
    codigo_situacao: '3',
  },
  data_nascimento: '1980-02-29',
  situacao_cpf: 'regular',
}

/** Parts and data of every operation, in the variants that make different requests. */
const given: { data: Json; opened: Record<string, Json>; secrets: object }[] = [
  {
    data: {
      ...{ status: 'ATIVO', validation: 'v1', day: null },
      ...{ evento: 'e', endpoint: 'https://a.exemplo.br/', remoteId: 1 },
    },
    opened: { cpf: '25774435016', id: 'a', record: { id: 'a' }, claims: {} },
    secrets: {},
  },
  {
    data: {
      ...{ status: 'REVOGADO', validation: 'v2', day: '2026-11-20' },
      ...{
        evento: 'e'.repeat(40),
        endpoint: 'https://a.exemplo.br/'.padEnd(500, 'x'),
        remoteId: 9_999_999_999,
      },
    },
    opened: {
      ...{ cpf: '25774435016', id: '012026-00001/2 ç', record: { id: '012026-00001/2 ç' }, claims },
      redirect: 'https://app.exemplo.br/volta?a=1&b=ç',
    },
    secrets: { chaveSecreta: 's'.repeat(100), chaveAutenticacao: 'Basic YTpi' },
  },
]

function clientsOf(fetch: Fetch, secrets: object): Performers {
  const options = { fetch, clock: new VirtualClock() }
  return {
    ...createConsentClient('https://consentimento.exemplo.br', options),
    ...createTokenClient({
      ...{
        ...options,
        url: 'https://gateway.exemplo.br/token',
        consumerKey: 'chave',
        consumerSecret: 's%+:',
      },
      keeper: noKeeper,
    }),
    ...createValidationClient({
      ...{ ...options, baseUrl: 'https://validacao.exemplo.br', service: 'demo', traceHeader: 'x-trace' },
      tokens: hostToken('t'),
    }),
    ...createPortalClient({
      ...{ ...options, baseUrl: 'https://portal.exemplo.br' },
      authenticate: staticHeaders({ authorization: 'sessao' }),
      secretsOf: async () => secrets,
    }),
  }
}

test.each(given)('every request of the clients matches the documents (%#)', async one => {
  const sent = new Set<string>()
  const violations: string[] = []
  const fetch: Fetch = async request => {
    const described = describedBy(request)
    sent.add(described?.operation.operationId ?? request.url)
    violations.push(...(described ? await checkRequest(described, request) : [`${request.url} is no operation`]))
    return new Response('', { status: 500 })
  }
  const pending: PendingEffect = {
    ...{ type: 'x', id: 's/1/1', stream: 's', position: 1, state: 'pending', attempts: 0, reason: '' },
    ...{ dueAt: '2026-11-20T12:00:00.000Z', data: one.data },
  }
  for (const { perform } of Object.values(clientsOf(fetch, one.secrets))) await perform(pending, one.opened)
  expect(violations).toEqual([])
  expect([...sent].sort()).toEqual(operations.map(({ operation }) => operation.operationId).sort())
})
