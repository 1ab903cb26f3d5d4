import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Faults } from '../../src/proof/faults.ts'
import { AbsenceCheck } from '../../src/proof/log-verifier.ts'
import { parseRecorded } from '../../src/proof/recorded-header.ts'

function observe(absence: AbsenceCheck, position: number, type: string, stream: string, data: object): void {
  const machine = { name: 'log', version: 1 }
  const event = parseRecorded(JSON.stringify({ position, type, stream, data, machine, at: '', causedBy: '' }))
  if (event) absence.observe(event)
}

interface Part {
  readonly position: number
  readonly name: string
  readonly owner: string
}

/** An event that destroys parts. */
type DestroyingEvent =
  | { readonly type: 'retention.applied'; readonly parts: string[] }
  | { readonly type: 'subject.erased'; readonly owner: string; readonly kept: string[] }

/** Checks missing parts against a log whose events start at position `from`. */
function check(missing: readonly Part[], events: readonly DestroyingEvent[], from = 1_000) {
  const absence = new AbsenceCheck()
  for (const part of missing) absence.addMissing(part)
  for (const [i, event] of events.entries()) {
    const { type, ...data } = event
    observe(absence, from + i, type, 'owner' in event ? event.owner : 'retention-x', data)
  }
  const faults = new Faults()
  const erased = absence.report(faults)
  return { erased, unexplained: faults.list().flatMap(each => each.examples) }
}

const partAt = (position: number, name = 'body', owner = 'subject-a'): Part => ({ position, name, owner })
const unexplained = (id: string) => {
  const [position, name] = id.split('/')
  return `the part "${name}" at ${position} is missing, and no event says why`
}

test('an event does not explain a missing part that comes after it', () => {
  const destroyed: DestroyingEvent = { type: 'retention.applied', parts: ['3/body', '8/body'] }
  expect(check([partAt(3), partAt(8)], [destroyed], 5)).toEqual({
    erased: 1,
    unexplained: [unexplained('8/body')],
  })
})

test('an erasure does not explain parts that it kept; a later erasure or retention can', () => {
  const owner = 'subject-a'
  const missing = [partAt(3, 'cpf'), partAt(4, 'claims'), partAt(5, 'result')]
  const keeping: DestroyingEvent = { type: 'subject.erased', owner, kept: ['4/claims', '5/result'] }
  expect(check(missing, [keeping])).toEqual({
    erased: 1,
    unexplained: [unexplained('4/claims'), unexplained('5/result')],
  })
  expect(check(missing, [keeping, { type: 'subject.erased', owner, kept: [] }])).toMatchObject({ erased: 3 })
  expect(check(missing, [keeping, { type: 'subject.erased', owner, kept: ['4/claims'] }])).toMatchObject({
    erased: 2,
    unexplained: [unexplained('4/claims')],
  })
  // Parts that an earlier erasure destroyed stay explained, even if a later one names them as kept.
  const late: DestroyingEvent = { type: 'subject.erased', owner, kept: ['3/cpf', '4/claims'] }
  expect(check(missing, [keeping, late])).toMatchObject({ erased: 2, unexplained: [unexplained('4/claims')] })
  expect(check(missing, [keeping, { type: 'retention.applied', parts: ['4/claims'] }])).toMatchObject({
    erased: 2,
    unexplained: [unexplained('5/result')],
  })
})

test('the log explains exactly the missing parts that it destroyed (generated histories)', () => {
  const allParts = [3, 4, 5].flatMap(position => ['body', 'claims'].map(name => partAt(position, name)))
  const partId = ({ position, name }: Part) => `${position}/${name}`
  const someParts = fc.subarray(allParts.map(partId))
  const anyEvent: fc.Arbitrary<DestroyingEvent> = fc.oneof(
    someParts.map((parts): DestroyingEvent => ({ type: 'retention.applied', parts })),
    someParts.map((kept): DestroyingEvent => ({ type: 'subject.erased', owner: 'subject-a', kept })),
  )
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 6 }), generated => {
      // An event can only destroy or keep parts that still exist.
      const existing = new Set(allParts.map(partId))
      const events = generated.map((event): DestroyingEvent => {
        if (event.type === 'subject.erased') {
          const kept = event.kept.filter(id => existing.has(id))
          for (const id of existing) if (!kept.includes(id)) existing.delete(id)
          return { ...event, kept }
        }
        const parts = event.parts.filter(id => existing.has(id))
        for (const id of parts) existing.delete(id)
        return { ...event, parts }
      })
      const destroyed = allParts.filter(part => !existing.has(partId(part)))
      expect(check(destroyed, events)).toEqual({ erased: destroyed.length, unexplained: [] })
      // With all parts missing, exactly those that the log did not destroy are unexplained.
      expect(check(allParts, events).unexplained.toSorted()).toEqual([...existing].map(unexplained).toSorted())
    }),
    { numRuns: 2_000 },
  )
})

test("an erasure explains its owner's older parts, retention the parts that it names", () => {
  const absence = new AbsenceCheck()
  const parts = [
    { position: 3, name: 'cpf', owner: 'subject-a' },
    { position: 8, name: 'cpf', owner: 'subject-a' },
    { position: 3, name: 'body', owner: 'subject-b' },
    { position: 4, name: 'body', owner: 'subject-b' },
    { position: 4, name: 'claims', owner: 'subject-b' },
  ]
  for (const part of parts) absence.addMissing(part)
  observe(absence, 7, 'subject.erased', 'subject-a', {})
  observe(absence, 9, 'retention.applied', 'subject-b', { parts: ['4/body'] })
  const faults = new Faults()
  expect(absence.report(faults)).toBe(2)
  expect(faults.list()).toMatchObject([{ count: 3 }])
})

test('100,000 missing parts of 10,000 erased owners are compared in linear time', () => {
  const absence = new AbsenceCheck()
  for (let i = 0; i < 100_000; i++) absence.addMissing({ position: i + 1, name: 'cpf', owner: `subject-${i % 10_000}` })
  for (let i = 0; i < 10_000; i++) observe(absence, 200_000 + i, 'subject.erased', `subject-${i}`, {})
  // Comparing each part with each erasure would take 10^9 comparisons, more than the timeout of a test allows.
  expect(absence.report(new Faults())).toBe(100_000)
})

test('100,000 erasures of one owner, each with a kept part, are compared in linear time', () => {
  const absence = new AbsenceCheck()
  for (let i = 0; i < 100_000; i++) absence.addMissing(partAt(200_000 + i))
  for (let i = 0; i < 100_000; i++) absence.addMissing(partAt(1, `${i}`))
  for (let i = 0; i < 100_000; i++) observe(absence, 100_000 + i, 'subject.erased', 'subject-a', { kept: ['1/x'] })
  const faults = new Faults()
  expect(absence.report(faults)).toBe(100_000)
  expect(faults.list()).toMatchObject([{ count: 100_000 }])
}, 5_000)
