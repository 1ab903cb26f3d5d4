import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Faults } from '../../src/proof/faults.ts'
import { AbsenceCheck, type ExplainingEvent } from '../../src/proof/log-verifier.ts'

const owner = 'subject-a'
const erasure = (position: number, ...kept: string[]): ExplainingEvent => ({
  ...{ type: 'subject.erased', stream: owner, position, data: { kept } },
})
const retention = (position: number, ...parts: string[]): ExplainingEvent => ({
  ...{ type: 'retention.applied', stream: 'retention-x', position, data: { parts } },
})

/** The missing parts of the owner, as `<position>/<name>`, that no event of the log explains. */
function unexplained(missing: readonly string[], events: readonly ExplainingEvent[]): string[] {
  const absence = new AbsenceCheck()
  for (const id of missing) {
    const [position, name = ''] = id.split('/')
    absence.addMissing({ position: Number(position), name, owner })
  }
  for (const event of events) absence.observe(event)
  const faults = new Faults()
  const erased = absence.report(faults)
  const found = faults.list().flatMap(({ examples }) => examples)
  expect(erased).toBe(missing.length - found.length)
  return found.map(text => text.replace(/^the part "(\w+)" at (\d+) is missing, and no event says why$/, '$2/$1'))
}

// What was kept, and is destroyed later, is in the generated histories below.
test.each<[what: string, missing: string[], events: ExplainingEvent[], unexplained: string[]]>([
  ['retention explains older parts that it names', ['3/b', '4/b', '8/b'], [retention(5, '3/b', '8/b')], ['4/b', '8/b']],
  ["an erasure explains its owner's older parts", ['3/cpf', '4/claims', '8/cpf'], [erasure(7)], ['8/cpf']],
  ['an erasure of somebody else explains nothing', ['3/cpf'], [{ ...erasure(7), stream: 'subject-b' }], ['3/cpf']],
  ['a part stays explained if a later erasure names it', ['3/b'], [erasure(6), erasure(7, '3/b')], []],
])('%s', (_, missing, events, expected) => {
  expect(unexplained(missing, events)).toEqual(expected)
})

test('the log explains exactly the missing parts that it destroyed (generated histories)', () => {
  const allParts = [3, 4, 5].flatMap(position => ['body', 'claims'].map(name => `${position}/${name}`))
  const anyStep = fc.record({ isErasure: fc.boolean(), named: fc.subarray(allParts) })
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 6 }), steps => {
      let existing = allParts
      const events = steps.map(({ isErasure, named }, i) => {
        // An event can only destroy or keep parts that still exist.
        const ids = existing.filter(id => named.includes(id))
        existing = existing.filter(id => ids.includes(id) === isErasure)
        return isErasure ? erasure(1_000 + i, ...ids) : retention(1_000 + i, ...ids)
      })
      const destroyed = allParts.filter(id => !existing.includes(id))
      expect(unexplained(destroyed, events)).toEqual([])
      expect(unexplained(allParts, events)).toEqual(existing)
    }),
    { numRuns: 2_000 },
  )
})

test('100,000 erasures of one owner, each with a kept part, are compared in linear time', () => {
  const absence = new AbsenceCheck()
  for (let i = 0; i < 100_000; i++) absence.addMissing({ position: 200_000 + i, name: 'body', owner })
  for (let i = 0; i < 100_000; i++) absence.addMissing({ position: 1, name: `${i}`, owner })
  for (let i = 0; i < 100_000; i++) absence.observe(erasure(100_000 + i, '1/x'))
  const faults = new Faults()
  expect(absence.report(faults)).toBe(100_000)
  expect(faults.list()).toMatchObject([{ count: 100_000 }])
}, 20_000)
