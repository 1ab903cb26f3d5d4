import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StreamNames } from '../../src/proof/stream-names.ts'

/** The number of a name that stands in other bytes as well. */
function numberIn(names: StreamNames, name: string, before: string): number {
  const bytes = Buffer.from(`${before}${name}and more`)
  return names.numberOf(name, new DataView(bytes.buffer, bytes.byteOffset, bytes.length), before.length)
}

const plainNames = fc.oneof(
  fc.integer({ min: 0, max: 3_000 }).map(n => `validation-${n}`),
  fc.string({ unit: 'binary-ascii', maxLength: 12 }),
)
const anyNames = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom(
    '',
    'é',
    'e\u0301',
    '\ud800',
    '\ud801',
    '\udc00',
    '\ufffd',
    '\u0000',
    '__proto__',
    'constructor',
  ),
)
const asked = fc.oneof(
  fc.record({ name: plainNames, before: fc.constantFrom<string | undefined>('', 'x', 'xyz', undefined) }),
  fc.record({ name: anyNames, before: fc.constant(undefined) }),
)

test.each([
  ['as it is', undefined, undefined],
  ['where hardly any chain has room', 1, undefined],
  ['where hardly any bytes are held', undefined, 200],
  ['where none are', 0, 0],
])('names have the numbers that a map gives them: %s', (_, chainMax, bytesMax) => {
  fc.assert(
    fc.property(fc.array(asked, { size: 'max', maxLength: 4_000 }), all => {
      const names = new StreamNames(chainMax, bytesMax)
      const twin = new Map<string, number>()
      for (const { name, before } of all) {
        const expected = twin.get(name) ?? twin.size
        twin.set(name, expected)
        const found = before === undefined ? names.numberOf(name) : numberIn(names, name, before)
        if (found !== expected) expect.fail(`"${name}" is ${found}, and should be ${expected}`)
      }
    }),
    { numRuns: 30 },
  )
})

test('many names each keep their number, also those of one hash, which so many have among them', () => {
  const names = new StreamNames()
  const nameOf = (n: number) => `validation-${String(n * 7_919).padStart(26, '0')}`
  for (let round = 0; round < 2; round++)
    for (let n = 0; n < 300_000; n++) if (numberIn(names, nameOf(n), 'x') !== n) expect.fail(nameOf(n))
})
