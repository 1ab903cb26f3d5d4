import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Absence } from '../../src/proof/absence.ts'
import { Faults } from '../../src/proof/faults.ts'
import { parseRecorded } from '../../src/proof/recorded-header.ts'

function heard(absence: Absence, position: number, type: string, stream: string, data: object): void {
  const machine = { name: 'log', version: 1 }
  const event = parseRecorded(JSON.stringify({ position, type, stream, data, machine, at: '', causedBy: '' }))
  if (event) absence.hear(event)
}

interface Part {
  readonly position: number
  readonly name: string
  readonly owner: string
}

/** An event that destroys parts, at a position behind them. */
type Told =
  | { readonly type: 'retention.applied'; readonly parts: string[] }
  | { readonly type: 'subject.erased'; readonly owner: string; readonly kept: string[] }

function judge(missing: readonly Part[], told: readonly Told[], from = 1_000) {
  const absence = new Absence()
  for (const part of missing) absence.miss(part)
  for (const [i, event] of told.entries()) {
    const { type, ...data } = event
    heard(absence, from + i, type, 'owner' in event ? event.owner : 'retention-x', data)
  }
  const faults = new Faults()
  const erased = absence.judge(faults)
  return { erased, unexplained: faults.list().flatMap(each => each.examples) }
}

const partAt = (position: number, name = 'body', owner = 'subject-a'): Part => ({ position, name, owner })
const unexplained = (place: string) => {
  const [position, name] = place.split('/')
  return `the part "${name}" at ${position} is missing, and no event says why`
}

test('no event explains what stands behind it', () => {
  const destroyed: Told = { type: 'retention.applied', parts: ['3/body', '8/body'] }
  expect(judge([partAt(3), partAt(8)], [destroyed], 5)).toEqual({
    erased: 1,
    unexplained: [unexplained('8/body')],
  })
})

test('an erasure explains none of what it kept; a later one does, and so does retention', () => {
  const owner = 'subject-a'
  const missing = [partAt(3, 'cpf'), partAt(4, 'claims'), partAt(5, 'result')]
  const keeping: Told = { type: 'subject.erased', owner, kept: ['4/claims', '5/result'] }
  expect(judge(missing, [keeping])).toEqual({
    erased: 1,
    unexplained: [unexplained('4/claims'), unexplained('5/result')],
  })
  expect(judge(missing, [keeping, { type: 'subject.erased', owner, kept: [] }])).toMatchObject({ erased: 3 })
  expect(judge(missing, [keeping, { type: 'subject.erased', owner, kept: ['4/claims'] }])).toMatchObject({
    erased: 2,
    unexplained: [unexplained('4/claims')],
  })
  // What an earlier one destroyed stays so, whatever a later one says that it kept.
  const late: Told = { type: 'subject.erased', owner, kept: ['3/cpf', '4/claims'] }
  expect(judge(missing, [keeping, late])).toMatchObject({ erased: 2, unexplained: [unexplained('4/claims')] })
  expect(judge(missing, [keeping, { type: 'retention.applied', parts: ['4/claims'] }])).toMatchObject({
    erased: 2,
    unexplained: [unexplained('5/result')],
  })
})

test('what the log tells of parts explains exactly those that are gone by it', () => {
  const places = [3, 4, 5].flatMap(position => ['body', 'claims'].map(name => partAt(position, name)))
  const nameOf = ({ position, name }: Part) => `${position}/${name}`
  const some = fc.subarray(places.map(nameOf))
  const told: fc.Arbitrary<Told> = fc.oneof(
    some.map((parts): Told => ({ type: 'retention.applied', parts })),
    some.map((kept): Told => ({ type: 'subject.erased', owner: 'subject-a', kept })),
  )
  fc.assert(
    fc.property(fc.array(told, { maxLength: 6 }), wanted => {
      // Each event as it can be: it destroys what is there.
      const there = new Set(places.map(nameOf))
      const made = wanted.map((event): Told => {
        if (event.type === 'subject.erased') {
          const kept = event.kept.filter(place => there.has(place))
          for (const place of there) if (!kept.includes(place)) there.delete(place)
          return { ...event, kept }
        }
        const parts = event.parts.filter(place => there.has(place))
        for (const place of parts) there.delete(place)
        return { ...event, parts }
      })
      const gone = places.filter(part => !there.has(nameOf(part)))
      expect(judge(gone, made)).toEqual({ erased: gone.length, unexplained: [] })
      // All missing: those that are there by the log, and no others, are what somebody took.
      expect(judge(places, made).unexplained.toSorted()).toEqual([...there].map(unexplained).toSorted())
    }),
    { numRuns: 2_000 },
  )
})

test('an erasure explains what its owner had before it, retention what it names, and nothing else', () => {
  const absence = new Absence()
  const parts = [
    { position: 3, name: 'cpf', owner: 'subject-a' },
    { position: 8, name: 'cpf', owner: 'subject-a' },
    { position: 3, name: 'body', owner: 'subject-b' },
    { position: 4, name: 'body', owner: 'subject-b' },
    { position: 4, name: 'claims', owner: 'subject-b' },
  ]
  for (const part of parts) absence.miss(part)
  heard(absence, 7, 'subject.erased', 'subject-a', {})
  heard(absence, 9, 'retention.applied', 'subject-b', { parts: ['4/body'] })
  const faults = new Faults()
  expect(absence.judge(faults)).toBe(2)
  expect(faults.list()).toMatchObject([{ count: 3 }])
})

test('a hundred thousand parts of ten thousand erased owners are judged at once, not one against each', () => {
  const absence = new Absence()
  for (let i = 0; i < 100_000; i++)
    absence.miss({ position: i + 1, name: 'cpf', owner: `subject-${i % 10_000}` })
  for (let i = 0; i < 10_000; i++) heard(absence, 200_000 + i, 'subject.erased', `subject-${i}`, {})
  // Part against erasure that is a thousand million comparisons, which the time of a test does not suffice for.
  expect(absence.judge(new Faults())).toBe(100_000)
})

test('a hundred thousand erasures of one owner, each of which keeps something, are no more than one', () => {
  const absence = new Absence()
  for (let i = 0; i < 100_000; i++) absence.miss(partAt(200_000 + i))
  for (let i = 0; i < 100_000; i++) absence.miss(partAt(1, `${i}`))
  for (let i = 0; i < 100_000; i++)
    heard(absence, 100_000 + i, 'subject.erased', 'subject-a', { kept: ['1/x'] })
  const faults = new Faults()
  expect(absence.judge(faults)).toBe(100_000)
  expect(faults.list()).toMatchObject([{ count: 100_000 }])
}, 5_000)
