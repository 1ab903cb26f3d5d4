import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Absence } from '../../src/proof/absence.ts'
import { Faults } from '../../src/proof/faults.ts'
import { parseRecorded } from '../../src/proof/recorded-header.ts'

function heard(absence: Absence, position: number, type: string, stream: string, data: object): void {
  const machine = { name: 'log', version: 1 }
  const event = parseRecorded(JSON.stringify({ position, type, stream, data, machine, at: '', because: '' }))
  if (event) absence.hear(event)
}

interface Part {
  readonly position: number
  readonly name: string
  readonly owner: string
}

/** An event of the log that moves or destroys parts, at a position behind them. */
type Told =
  | {
      readonly type: 'log.partsArchived' | 'log.partsRestored' | 'retention.applied'
      readonly parts: string[]
    }
  | { readonly type: 'subject.erased'; readonly owner: string; readonly kept: string[] }

function judge(missing: readonly Part[], told: readonly Told[], from = 1_000) {
  const absence = new Absence()
  for (const part of missing) absence.miss(part)
  for (const [i, event] of told.entries()) {
    const stream = {
      'subject.erased': 'owner' in event ? event.owner : '',
      'retention.applied': 'retention-x',
    }
    const { type, ...data } = event
    heard(
      absence,
      from + i,
      type,
      type.startsWith('log.') ? 'log-main' : stream[type as 'subject.erased'],
      data,
    ) // Of the two.
  }
  const faults = new Faults()
  const counts = absence.judge(faults)
  return { ...counts, unexplained: faults.list().flatMap(each => each.examples) }
}

const partAt = (position: number, name = 'body', owner = 'subject-a'): Part => ({ position, name, owner })
const unexplained = (place: string) => {
  const [position, name] = place.split('/')
  return `the part "${name}" at ${position} is missing, and no event says why`
}

test('a move explains the parts that it names, and none that stayed between them, whoever was erased since', () => {
  const archived: Told = { type: 'log.partsArchived', parts: ['3/body', '4/body', '9/body'] }
  const missing = [
    partAt(3),
    partAt(4),
    partAt(5, 'body', 'subject-b'),
    partAt(9),
    partAt(9, 'cpf', 'subject-b'),
  ]
  expect(judge(missing, [archived])).toEqual({
    ...{ archived: 3, erased: 0 },
    unexplained: [unexplained('5/body'), unexplained('9/cpf')],
  })
  expect(judge(missing, [archived, { type: 'subject.erased', owner: 'subject-a', kept: [] }])).toEqual({
    ...{ archived: 0, erased: 3 },
    unexplained: [unexplained('5/body'), unexplained('9/cpf')],
  })
})

test('what came back and is missing again is not explained, until an event says that it went again', () => {
  const out: Told = { type: 'log.partsArchived', parts: ['3/body', '4/body'] }
  const back: Told = { type: 'log.partsRestored', parts: ['3/body'] }
  expect(judge([partAt(3), partAt(4)], [out, back])).toMatchObject({
    archived: 1,
    unexplained: [unexplained('3/body')],
  })
  expect(judge([partAt(3), partAt(4)], [out, back, out])).toMatchObject({ archived: 2, unexplained: [] })
  const destroyed: Told = { type: 'retention.applied', parts: ['3/body'] }
  expect(judge([partAt(3)], [destroyed, back])).toMatchObject({ unexplained: [unexplained('3/body')] })
  expect(judge([partAt(3)], [out, back, destroyed])).toMatchObject({ erased: 1, unexplained: [] })
})

test('no event explains what stands behind it, and a move is one of the log itself', () => {
  const archived: Told = { type: 'log.partsArchived', parts: ['3/body', '8/body'] }
  expect(judge([partAt(3), partAt(8)], [archived], 5)).toMatchObject({ unexplained: [unexplained('8/body')] })
  const destroyed: Told = { type: 'retention.applied', parts: ['3/body', '8/body'] }
  expect(judge([partAt(3), partAt(8)], [destroyed], 5)).toMatchObject({
    unexplained: [unexplained('8/body')],
  })
  const absence = new Absence()
  absence.miss(partAt(3))
  heard(absence, 9, 'log.partsArchived', 'log-other', { parts: ['3/body'] })
  expect(absence.judge(new Faults())).toEqual({ archived: 0, erased: 0 })
})

test('an erasure explains none of what it kept; a later one does, and so does retention', () => {
  const owner = 'subject-a'
  const missing = [partAt(3, 'cpf'), partAt(4, 'claims'), partAt(5, 'result')]
  const keeping: Told = { type: 'subject.erased', owner, kept: ['4/claims', '5/result'] }
  expect(judge(missing, [keeping])).toEqual({
    ...{ archived: 0, erased: 1 },
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
  expect(judge(missing, [keeping, { type: 'log.partsArchived', parts: ['4/claims'] }])).toMatchObject({
    archived: 1,
    unexplained: [unexplained('5/result')],
  })
})

test('what the log tells of parts explains exactly those that are gone by it', () => {
  const places = [3, 4, 5].flatMap(position => ['body', 'claims'].map(name => partAt(position, name)))
  const nameOf = ({ position, name }: Part) => `${position}/${name}`
  const some = fc.subarray(places.map(nameOf))
  const told: fc.Arbitrary<Told> = fc.oneof(
    some.map((parts): Told => ({ type: 'log.partsArchived', parts })),
    some.map((parts): Told => ({ type: 'log.partsRestored', parts })),
    some.map((parts): Told => ({ type: 'retention.applied', parts })),
    some.map((kept): Told => ({ type: 'subject.erased', owner: 'subject-a', kept })),
  )
  fc.assert(
    fc.property(fc.array(told, { maxLength: 6 }), wanted => {
      // Each event as it can be: it moves what is there, and brings back what is out.
      const there = new Set(places.map(nameOf))
      const out = new Set<string>()
      const destroy = (place: string) => {
        there.delete(place)
        out.delete(place)
      }
      const made = wanted.map((event): Told => {
        if (event.type === 'subject.erased') {
          const kept = event.kept.filter(place => there.has(place) || out.has(place))
          for (const place of [...there, ...out]) if (!kept.includes(place)) destroy(place)
          return { ...event, kept }
        }
        const parts = event.parts.filter(place =>
          event.type === 'log.partsRestored' ? out.has(place) : there.has(place),
        )
        for (const place of parts) {
          destroy(place)
          if (event.type === 'log.partsArchived') out.add(place)
          if (event.type === 'log.partsRestored') there.add(place)
        }
        return { ...event, parts }
      })
      const gone = places.filter(part => !there.has(nameOf(part)))
      expect(judge(gone, made)).toMatchObject({
        archived: out.size,
        erased: gone.length - out.size,
        unexplained: [],
      })
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
  expect(absence.judge(faults)).toEqual({ archived: 0, erased: 2 })
  expect(faults.list()).toMatchObject([{ count: 3 }])
})

test('a hundred thousand parts of ten thousand erased owners are judged at once, not one against each', () => {
  const absence = new Absence()
  for (let i = 0; i < 100_000; i++)
    absence.miss({ position: i + 1, name: 'cpf', owner: `subject-${i % 10_000}` })
  for (let i = 0; i < 10_000; i++) heard(absence, 200_000 + i, 'subject.erased', `subject-${i}`, {})
  // Part against erasure that is a thousand million comparisons, which the time of a test does not suffice for.
  expect(absence.judge(new Faults())).toEqual({ archived: 0, erased: 100_000 })
})

test('a hundred thousand erasures of one owner, each of which keeps something, are no more than one', () => {
  const absence = new Absence()
  for (let i = 0; i < 100_000; i++) absence.miss(partAt(200_000 + i))
  for (let i = 0; i < 100_000; i++) absence.miss(partAt(1, `${i}`))
  for (let i = 0; i < 100_000; i++)
    heard(absence, 100_000 + i, 'subject.erased', 'subject-a', { kept: ['1/x'] })
  const faults = new Faults()
  expect(absence.judge(faults)).toEqual({ archived: 0, erased: 100_000 })
  expect(faults.list()).toMatchObject([{ count: 100_000 }])
}, 5_000)
