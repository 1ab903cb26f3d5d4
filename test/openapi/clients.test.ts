import { expect, test } from 'vitest'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import type { Json } from '../../src/vocabulary/message.ts'
import { everyClaim } from '../support/every-claim.ts'
import { createPerformers, performOnce } from '../support/performers.ts'
import { describedBy, operations } from './described.ts'
import { checkRequest } from './violations.ts'

/** Checks what the clients send against the request side of the documents. */

/** Parts and data of every operation, in the variants that make different requests. */
const given: { data: Json; parts: Record<string, Json>; secrets: object }[] = [
  {
    data: { status: 'ATIVO', validation: 'v1', day: null, evento: 'e', endpoint: 'https://a.exemplo.br/', remoteId: 1 },
    parts: { cpf: '25774435016', id: 'a', record: { id: 'a' }, claims: {} },
    secrets: {},
  },
  {
    data: {
      ...{ status: 'REVOGADO', validation: 'v2', day: '2026-11-20', remoteId: 9_999_999_999 },
      ...{ evento: 'e'.repeat(40), endpoint: 'https://a.exemplo.br/'.padEnd(500, 'x') },
    },
    parts: {
      ...{ cpf: '25774435016', id: '012026-00001/2 ç', record: { id: '012026-00001/2 ç' }, claims: everyClaim },
      redirect: 'https://app.exemplo.br/volta?a=1&b=ç',
    },
    secrets: { chaveSecreta: 's'.repeat(100), chaveAutenticacao: 'Basic YTpi' },
  },
]

test.each(given)('every request of the clients matches the documents (%#)', async ({ secrets, ...one }) => {
  const sent = new Set<string>()
  const violations: string[] = []
  const fetch: Fetch = async request => {
    const described = describedBy(request)
    sent.add(described?.operation.operationId ?? request.url)
    violations.push(...(described ? await checkRequest(described, request) : [`${request.url} is no operation`]))
    return new Response('', { status: 500 })
  }
  const portal = { secretsOf: async () => secrets }
  const performers = createPerformers(fetch, { validation: { traceHeader: 'x-trace' }, portal })
  for (const type of Object.keys(performers)) await performOnce(performers, type, one)
  expect(violations).toEqual([])
  expect([...sent].sort()).toEqual(operations.map(({ operation }) => operation.operationId).sort())
})
