import { expect, test } from 'vitest'
import { readAwareness, readConsent, writeReading } from '../../../src/adapters/consent/protocol.ts'

const asked = { cpf: '52998224725', id: 'x' }
const read = (more: object) => readConsent(JSON.stringify({ id: 'x', status: 'ATIVO', ...more }), asked)

test('an answer about another person is rejected, also if the CPF is a number without its zeros', () => {
  expect(read({ titular: { cpf: '00000000191' } })).toBeUndefined()
  expect(read({ titular: { cpf: 191 } })).toBeUndefined()
  expect(read({ titular: { cpf: 52998224725 } })).toBeDefined()
  expect(read({ titular: { cpf: '529.982.247-25' } })).toBeDefined()
  expect(read({ titular: { cpf: '***.982.247-**' } })).toBeDefined()
  const readAware = (more: object) => readAwareness(JSON.stringify({ id: 'x', ...more }), asked)
  expect(readAware({ titular: { cpf: '00000000191' } })).toBeUndefined()
  expect(readAware({ id: 'y' })).toBeUndefined()
  expect(readAware({ titular: { cpf: 52998224725 } })).toBeDefined()
})

test.each([{}, { historico: null }, { historico: [] }])('a consent without a history is read: %j', history => {
  expect(read({ titular: null, ...history })).toMatchObject({ summary: { status: 'ATIVO' } })
})

test('no request is written for a record without an id', () => {
  expect(() => writeReading('https://host.exemplo.br', 'consentimentos', '52998224725', '')).toThrow(TypeError)
})
