import { expect, test } from 'vitest'
import { storableCode } from '../../src/vocabulary/outcome.ts'

const readCode = (code: string, sent: object) => storableCode({ status: 400, code }, JSON.parse(JSON.stringify(sent)))

test.each([
  ['José da Silva', 'JOSE'],
  ['Antônio Gonçalves', 'ANTONIO.GONCALVES'],
  ['SEVERINA ÂNGELA', 'angela-1'],
  ['Maria Silva', 'MARIASILVA'],
  ['482.913', '482913'],
  ['482.913', '4829'],
])('a code is dropped if it quotes what was sent: "%s", %s', (nome, code) => {
  expect(readCode(code, { nome })).toBeNull()
  expect(readCode(code, { endereco: { linhas: [nome] } })).toBeNull()
  expect(readCode(code, { nome: 'outra' })).toBe(code)
})

test('a code that does not quote what was sent is kept', () => {
  const sent = { nome: 'Ana Lima', numero: 12, ativo: true }
  for (const code of ['900908', 'E-1042', 'invalid_client', 'canal']) expect(readCode(code, sent)).toBe(code)
})
