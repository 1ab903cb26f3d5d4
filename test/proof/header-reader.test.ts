import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HeaderReader } from '../../src/proof/header-reader.ts'
import { Leaf } from '../../src/proof/leaf.ts'
import { parseRecorded, type RecordedHeader } from '../../src/proof/recorded-header.ts'

const logs = resolve(import.meta.dirname, '../recordings/logs')
const texts = readdirSync(logs)
  .filter(name => name.endsWith('.bundle'))
  .flatMap(name =>
    readFileSync(join(logs, name, 'leaves.ndjson'), 'utf8')
      .trimEnd()
      .split('\n'),
  )

/** One leaf after the other stands in the same bytes, as when a log is verified. */
const leaf = new Leaf()

function read(reader: HeaderReader, text: string): RecordedHeader | undefined {
  leaf.hold(text)
  const header = reader.read(leaf)
  const { streamAt } = reader
  // Where it says that the stream stands, it does.
  if (streamAt !== undefined && header)
    expect(text.slice(streamAt - 1).startsWith(`${header.stream}"`), text).toBe(true)
  return header
}

/** What a verifier looks at, as plain values. */
function seen(header: RecordedHeader | undefined): unknown {
  if (!header) return undefined
  const { format, position, stream, version, type, at, because, machine, data, anomaly } = header
  const effects = header.effects.map(each => each.type)
  const parts = header.parts.map(({ name, owner, hash, bytes }) => ({ name, owner, hash, bytes }))
  return { format, position, stream, version, type, at, because, machine, data, anomaly, effects, parts }
}

test('every recorded header is read as parsing reads it, whether its like was met before or not', () => {
  const reader = new HeaderReader()
  for (let round = 0; round < 2; round++)
    for (const text of texts) expect(seen(read(reader, text)), text).toEqual(seen(parseRecorded(text)))
})

/** Ways to damage a text, or to write the same in another way. */
const edits: readonly ((text: string, at: number, piece: string) => string)[] = [
  (text, at, piece) => text.slice(0, at) + piece + text.slice(at),
  (text, at, piece) => text.slice(0, at) + piece + text.slice(at + 1),
  (text, at) => text.slice(0, at) + text.slice(at + 1),
  (text, at) => text.slice(0, at),
  (text, at, piece) => text.slice(0, at) + piece,
  text => text.replace(/"type":/, '"type":"other","type":'),
  text => text.replace(/"version":\d+/, '"version":01'),
  text => text.replace(/"position":\d+/, '"position":1e2'),
  text => text.replace(/"at":"2/, '"at":"\\u0032'),
]
const pieces = [
  ...[
    '"',
    '\\',
    '\\"',
    '\n',
    '\u0000',
    '\u001f',
    ' ',
    '!',
    '\u007f',
    '\u0080',
    '\u00a2',
    '\u00dc',
    'é',
    '\u20ac',
    '\ud800',
  ],
  ...['{', '}', '[', ']', ',', ':', '-', '0', '1', '.', 'e', '12345678901234', '-1', '01'],
]

test('a text that is damaged, or written in another way, is read as parsing reads it', () => {
  const reader = new HeaderReader()
  for (const text of texts) read(reader, text)
  fc.assert(
    fc.property(
      fc.constantFrom(...texts.filter(text => text.length < 4_000)),
      fc.constantFrom(...edits),
      fc.nat(4_000),
      fc.constantFrom(...pieces),
      (text, edit, place, piece) => {
        const edited = edit(text, place % text.length, piece)
        expect(seen(read(reader, edited)), edited).toEqual(seen(parseRecorded(edited)))
      },
    ),
    { numRuns: 20_000 },
  )
})

/** A value with its members as a row: in any order, and more than one of a name. */
type Written = string | number | boolean | null | readonly Written[] | Members
interface Members {
  readonly members: readonly (readonly [key: string, value: Written])[]
}

function write(value: Written): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if ('members' in value)
    return `{${value.members.map(([key, member]) => `${JSON.stringify(key)}:${write(member)}`).join()}}`
  return `[${value.map(write).join()}]`
}

/** Another leaf of the same kind in the place of the one that is met when `count` were passed. */
function edit(value: Written, count: { left: number }): Written {
  if (typeof value !== 'object' || value === null) {
    count.left -= 1
    if (count.left !== -1) return value
    return typeof value === 'string' ? `${value}x` : typeof value === 'number' ? value + 1 : !value
  }
  if ('members' in value)
    return { members: value.members.map(([key, member]) => [key, edit(member, count)] as const) }
  return value.map(each => edit(each, count))
}

const hostileKeys = [
  ...['parts/0/hash', 'parts/0/bytes', '/parts/0/hash', 'parts/0', 'effects/0/type', 'machine/name', '/at'],
  ...[
    '0/hash',
    '0',
    '1',
    '7',
    '99',
    '-1',
    '',
    '~1',
    '"',
    '\\',
    '","hash":"',
    'a\nb',
    '\u2028',
    '*',
    '(',
    ')',
  ],
  ...['__proto__', 'constructor', 'toString', 'at', 'position', 'version', 'stream', 'data', 'type', 'hash'],
]
const value = fc.oneof(
  fc.constantFrom<Written>(
    'real',
    'fake',
    '',
    '3',
    '-0',
    'a"b',
    'a\\b',
    '(',
    0,
    1,
    -1,
    1.5,
    2 ** 53,
    true,
    null,
  ),
  fc.integer(),
)
const member = fc.oneof(
  { weight: 4, arbitrary: value },
  {
    weight: 1,
    arbitrary: fc
      .array(fc.tuple(fc.constantFrom(...hostileKeys), value), { maxLength: 2 })
      .map(members => ({ members })),
  },
  { weight: 1, arbitrary: fc.array(value, { maxLength: 2 }) },
)
/** Members that are usual, each sometimes of another kind, and before, between or behind them those of a hostile key. */
const membersWith = (usual: Readonly<Record<string, fc.Arbitrary<Written>>>): fc.Arbitrary<Written> =>
  fc
    .tuple(
      fc.tuple(
        ...Object.entries(usual).map(([key, value]) =>
          fc.tuple(
            fc.constant(key),
            fc.oneof({ weight: 30, arbitrary: value }, { weight: 1, arbitrary: member }),
          ),
        ),
      ),
      fc.oneof(
        { weight: 3, arbitrary: fc.constant([]) },
        {
          weight: 2,
          arbitrary: fc.array(fc.tuple(fc.constantFrom(...hostileKeys), member), { maxLength: 2 }),
        },
      ),
      fc.nat(12),
    )
    .map(([own, others, at]) => ({ members: [...own.slice(0, at), ...others, ...own.slice(at)] }))
const text = fc.constantFrom('real', 'fake', 'a', 'token-a', '')
const count = fc.integer({ min: 0, max: 3 })
const hostileHeaders = membersWith({
  anomaly: membersWith({ what: text }),
  at: text,
  because: fc.constantFrom('token.reject', 'token.accept'),
  data: membersWith({ note: text }),
  effects: fc.array(membersWith({ type: text }), { maxLength: 2 }),
  format: count,
  machine: membersWith({ name: text, version: count }),
  parts: fc.array(membersWith({ bytes: count, hash: text, name: text, owner: text }), { maxLength: 2 }),
  position: count,
  stream: text,
  type: text,
  version: count,
})

test('a header with hostile keys is read as parsing reads it, also by the shape that it or its like has made', () => {
  fc.assert(
    fc.property(hostileHeaders, fc.nat(40), (header, at) => {
      const reader = new HeaderReader()
      const [first, second] = [write(header), write(edit(header, { left: at }))]
      for (const each of [first, first, second, second])
        expect(seen(read(reader, each)), `${first} ${each}`).toEqual(seen(parseRecorded(each)))
    }),
    { numRuns: 10_000 },
  )
})

const header = (more: string, position = '1', bytes = '1') =>
  `{"at":"2030","because":"a","data":{},"effects":[{"type":{"a":"${more}"}}],"format":{"a":"${more}"},"machine":{"name":"m","version":1},` +
  `"anomaly":{"a\\nb":"${more}"},"parts":[{"bytes":${bytes},"hash":"real","name":"n","owner":"o"}],"position":${position},"stream":"s","type":"t","version":1}`

test.each([
  ['a member whose key is the path of another', header('').replace('{', '{"parts/0/hash":"fake",')],
  ['a position that is text', header('', '"3"')],
  ['a length that is text', header('', '1', '"3"')],
])('%s is read as parsing reads it', (_, each) => {
  const reader = new HeaderReader()
  for (let round = 0; round < 2; round++) expect(seen(read(reader, each))).toEqual(seen(parseRecorded(each)))
})

test('another value within what decides is another shape', () => {
  const reader = new HeaderReader()
  for (const each of [header('x'), header('x'), header('y')])
    expect(seen(read(reader, each))).toEqual(seen(parseRecorded(each)))
})
