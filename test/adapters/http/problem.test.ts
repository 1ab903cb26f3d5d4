import { expect, test } from 'vitest'
import { clearCode } from '../../../src/vocabulary/problem.ts'

const codeOf = (code: string, sent: object) =>
  clearCode({ status: 400, code }, JSON.parse(JSON.stringify(sent)))

test.each([
  ['José da Silva', 'JOSE'],
  ['Antônio Gonçalves', 'ANTONIO.GONCALVES'],
  ['SEVERINA ÂNGELA', 'angela-1'],
  ['Maria Silva', 'MARIASILVA'],
  ['482.913', '482913'],
  ['482.913', '4829'],
])('what was sent as "%s" is not told as the code %s', (nome, code) => {
  expect(codeOf(code, { nome })).toBeNull()
  expect(codeOf(code, { endereco: { linhas: [nome] } })).toBeNull()
  expect(codeOf(code, { nome: 'outra' })).toBe(code)
})

test('a code that says nothing of what was sent is told', () => {
  const sent = { nome: 'Ana Lima', numero: 12, ativo: true }
  for (const code of ['900908', 'E-1042', 'invalid_client', 'canal']) expect(codeOf(code, sent)).toBe(code)
})
