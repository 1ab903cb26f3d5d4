import { expect, test } from 'vitest'
import { sendRequest } from '../../../src/adapters/http/exchange.ts'
import { systemClock } from '../../../src/runtime/clock.ts'

const text = 'Situação inválida'

test.each([
  ['application/problem+json; charset=ISO-8859-1', 'latin1'],
  ['text/html;charset="windows-1252"', 'latin1'],
  ['application/json; charset=utf-8', 'utf8'],
  ['application/json', 'utf8'],
  ['application/json; charset=nenhum', 'utf8'],
  // Labelled wrongly.
  ['application/json; charset=ISO-8859-1', 'utf8'],
  ['application/json; charset=utf-16', 'utf8'],
] as const)('an answer of the type %s is decoded correctly (%s)', async (type, encoding) => {
  const fetch = async () =>
    new Response(Buffer.from(text, encoding), { status: 422, headers: { 'content-type': type } })
  const write = () => new Request('https://servico.exemplo.br/')
  const answered = await sendRequest({ fetch, clock: systemClock }, 'read', write)
  expect(answered).toMatchObject({ answer: { text } })
})
