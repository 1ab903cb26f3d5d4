import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson } from '../../src/proof/canonical-json.ts'

test.each<[what: string, value: object, text: string]>([
  [
    'keys sorted by code unit at every depth, without white space',
    { b: [1, { z: null, a: true }], a: 'ç', é: 0, Z: -1 },
    '{"Z":-1,"a":"ç","b":[1,{"a":true,"z":null}],"é":0}',
  ],
  ['no undefined member at any depth', { a: undefined, b: { c: undefined, d: 1 } }, '{"b":{"d":1}}'],
  ['no undefined member of an item', { z: 1, a: undefined, b: [{ d: 1, c: undefined }] }, '{"b":[{"d":1}],"z":1}'],
  ['keys that JavaScript orders as numbers sorted too', { 10: 'a', 9: 'b', '': 'c' }, '{"":"c","10":"a","9":"b"}'],
  ['such keys among others', { 99: 1, 900: 2, '!a': 3, ':': 4 }, '{"!a":3,"900":2,"99":1,":":4}'],
  [
    'a text that looks like an escaped surrogate unchanged',
    { a: 'C:\\udata\\ud800', b: '\ud83d\ude00' },
    '{"a":"C:\\\\udata\\\\ud800","b":"\ud83d\ude00"}',
  ],
])('it has %s', (_, value, text) => {
  expect(canonicalJson(value)).toBe(text)
})

const wrongAlone = [-0, 2 ** 53, Number.NaN, new Date(0), new Map(), '\ud800', { '\ud800': 1 }, 1n, () => 1]

test.each<[value: unknown, where: string]>([
  [[undefined], '$[0]'],
  [new Array(1), '$[0]'],
  [{ b: [{ c: undefined }, undefined] }, '$.b[1]'],
  [{ a: 0.1 }, '$.a'],
  [{ a: new Uint8Array(1) }, '$.a'],
  [{ a: ['b', 'c\udc00d'] }, '$.a[1]'],
  ...wrongAlone.map((value): [unknown, string] => [value, '$']),
])('%o is rejected, and the error names its path', (value, where) => {
  expect(() => canonicalJson(value)).toThrow(TypeError)
  expect(() => canonicalJson(value)).toThrow(where)
})

test('the order of members does not matter, and the text parses back to the value', () => {
  const text = fc.string({ unit: 'grapheme' }).filter(text => text.isWellFormed())
  const names = text.filter(name => name !== '__proto__')
  const { value: values } = fc.letrec(tie => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom(null, true, false),
      fc.maxSafeInteger().map(number => (Object.is(number, -0) ? 0 : number)),
      text,
      fc.array(tie('value')),
      fc.dictionary(names, tie('value')),
    ),
  }))
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed)
    if (typeof value !== 'object' || value === null) return value
    const members = Object.entries(value).map(([key, member]) => [key, reversed(member)])
    return Object.fromEntries(members.reverse())
  }
  fc.assert(
    fc.property(values, value => {
      const text = canonicalJson(value)
      expect(canonicalJson(reversed(value))).toBe(text)
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )
})
