import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HeaderReader } from '../../src/proof/header-reader.ts'
import { parseRecorded, type RecordedHeader } from '../../src/proof/recorded-header.ts'

const logs = resolve(import.meta.dirname, '../recordings/logs')
const texts = readdirSync(logs)
  .filter(name => name.endsWith('.bundle'))
  .flatMap(name =>
    readFileSync(join(logs, name, 'leaves.ndjson'), 'utf8')
      .trimEnd()
      .split('\n'),
  )

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
    for (const text of texts) expect(seen(reader.read(text)), text).toEqual(seen(parseRecorded(text)))
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
const pieces = ['"', '\\', '\\"', '\n', '\u0000', '{', '}', '[', ']', ',', ':', ' ', '-', '0', '1', '.', 'e']

test('a text that is damaged, or written in another way, is read as parsing reads it', () => {
  const reader = new HeaderReader()
  for (const text of texts) reader.read(text)
  fc.assert(
    fc.property(
      fc.constantFrom(...texts.filter(text => text.length < 4_000)),
      fc.constantFrom(...edits),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.constantFrom(...pieces),
      (text, edit, place, piece) => {
        const edited = edit(text, Math.floor(place * text.length), piece)
        expect(seen(reader.read(edited)), edited).toEqual(seen(parseRecorded(edited)))
      },
    ),
    { numRuns: 20_000 },
  )
})
