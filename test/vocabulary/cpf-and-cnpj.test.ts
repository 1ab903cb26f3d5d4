import { describe, expect, test } from 'vitest'
import { createIds } from '../../src/runtime/entropy.ts'
import { seededEntropy } from '../../src/simulation/world/seeded-entropy.ts'
import { VirtualClock } from '../../src/simulation/world/virtual-clock.ts'
import { toInstant } from '../../src/vocabulary/instant.ts'
import { holdsCpf, isCnpj, isCpf, parseCnpj, parseCpf, refusePersonalId } from '../../src/vocabulary/tax-numbers.ts'

describe.each([
  ['CPF', isCpf, parseCpf, ['25774435016', '00000000191', '11144477735'], '257.744.350-16', '25774435016'],
  ['CNPJ', isCnpj, parseCnpj, ['12ABC34501DE35', '00000000000191'], '12.ABC.345/01DE-35', '12ABC34501DE35'],
] as const)('a %s', (_, isOne, parse, right, punctuated, plain) => {
  test.each(right)('%s is one', text => {
    expect(isOne(text)).toBe(true)
    expect(parse(text)).toBe(text)
  })

  test('the usual punctuation is understood, also with letters', () => expect(parse(punctuated)).toBe(plain))
})

test.each([
  ['CPF', '25774435017', 'a wrong check digit'],
  ['CPF', '11111111111', 'all digits equal'],
  ['CPF', '191', 'leading zeros left out'],
  ['CPF', '2577443501', 'ten digits'],
  ['CPF', '257744350160', 'twelve digits'],
  ['CPF', '257.74435016', 'half of the punctuation'],
  ['CPF', '２5774435016', 'a digit of another script'],
  ['CPF', '', 'nothing'],
  ['CNPJ', '12ABC34501DE36', 'a wrong check digit'],
  ['CNPJ', '12abc34501de35', 'small letters'],
  ['CNPJ', '12ABC34501DEA5', 'a letter for a check digit'],
  ['CNPJ', '00000000000000', 'all digits equal'],
  ['CNPJ', '12ABC34501DE3', 'thirteen characters'],
])('the %s %s is refused: %s', (kind, text) => {
  const parse = kind === 'CPF' ? parseCpf : parseCnpj
  expect(() => parse(text)).toThrow(expect.objectContaining({ code: `INVALID_${kind}` }))
})

test('the error about a wrong CPF does not contain it', () => {
  expect(() => parseCpf('25774435017')).toThrow(/^(?!.*25774435017)/s)
})

describe('an id given by the host', () => {
  const refuse = (id: string) => () => refusePersonalId(id, 'command id')

  test.each([
    ...['25774435016', 'pedido-257.744.350-16', 'x25774435016y', '257744350-16', '257.744.35016', '257 744 350 16'],
    ...['257-744-350-16', '257.744.350/16', '257. 744. 350 -16', '257_744_350_16', '257.744.350–16'],
    ...['pedido%2F257%2E744%2E350%2D16', '100%25774435016', '%E2%80%93257%E2%80%93744%E2%80%93350%E2%80%9316%E2'],
    ...['257\u00a0744\u00a0350\u00a016', '257.744.350\u00ad-16', '２５７．７４４．３５０－１６'],
    '11144477730 257744350-16',
  ])('%s looks like a CPF', id => {
    expect(refuse(id)).toThrow(expect.objectContaining({ code: 'PERSONAL_ID' }))
  })

  test.each([
    ...['pedido-1', '20261120257744350167', '257744350-17', '25-774-435-016', '257744-35016', '257-744350-16'],
    ...['0190b0f0-7a3e-7cc0-8f21-3c1f2f9d4b10', '0190b0f0-7a3e-7cc0-8f21-25774435016f'],
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495a25774435016b',
    ...['2577.4435.016', '257744350---16', '257,744,350,16', '257%30744350%3016', '2026-257744350-167'],
    '25.774.435/0160-16',
  ])('%s does not', id => expect(refuse(id)).not.toThrow())

  test('no instant and none of 20,000 generated ids looks like a CPF', () => {
    // A fixed clock and seed give the same ids in each run: a random id could look like a CPF by chance.
    const newId = createIds(new VirtualClock(), seededEntropy(1))
    const dayMs = 86_400_000
    const taken = Array.from({ length: 20_000 }, (_, i) => [toInstant(i * dayMs + i * 61_003), newId()])
      .flat()
      .filter(holdsCpf)
    expect(taken).toEqual([])
  })
})
