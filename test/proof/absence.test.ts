import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Absence } from '../../src/proof/absence.ts'
import { Faults } from '../../src/proof/faults.ts'
import { parseRecorded } from '../../src/proof/recorded-header.ts'

interface Bundle {
  readonly from: number
  readonly to: number
  readonly count: number
}

function heard(absence: Absence, position: number, type: string, stream: string, data: object): void {
  const machine = { name: 'log', version: 1 }
  const event = parseRecorded(JSON.stringify({ position, type, stream, data, machine, at: '', because: '' }))
  if (event) absence.hear(event)
}

function judge(missing: readonly number[], bundles: readonly Bundle[], restored: number[] = []) {
  const absence = new Absence()
  for (const position of missing) absence.miss({ position, name: 'body', owner: 'subscription-1' })
  for (const [i, bundle] of bundles.entries())
    heard(absence, 1_000 + i, 'log.partsArchived', 'log-main', { ...bundle, bundle: `${i}` })
  for (const [i, count] of restored.entries())
    heard(absence, 2_000 + i, 'log.partsRestored', 'log-main', { ...bundles[i], bundle: `${i}`, count })
  const faults = new Faults()
  const counts = absence.judge(faults)
  return { ...counts, unexplained: faults.list().reduce((sum, each) => sum + each.count, 0) }
}

test('what bundles that overlap hold is explained, whichever stands first in the log', () => {
  const [long, short] = [
    { from: 1, to: 100, count: 1 },
    { from: 1, to: 10, count: 1 },
  ]
  expect(judge([5, 50], [long, short])).toEqual({ archived: 2, erased: 0, unexplained: 0 })
  expect(judge([5, 50], [short, long])).toEqual({ archived: 2, erased: 0, unexplained: 0 })
  expect(judge([5, 6, 50], [short, long])).toMatchObject({ unexplained: 1 })
  expect(judge([50, 60], [short, long])).toMatchObject({ unexplained: 1 })
  expect(judge([5, 50], [short, long], [1])).toMatchObject({ unexplained: 1 })
})

test('as many parts are explained as any way to give them to bundles could explain', () => {
  const bundle = fc
    .tuple(fc.integer({ min: 1, max: 12 }), fc.nat(11), fc.integer({ min: 1, max: 2 }))
    .map(([from, length, count]) => ({ from, to: from + length, count }))
  const positions = fc
    .uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 7 })
    .map(all => all.sort((a, b) => a - b))
  fc.assert(
    fc.property(positions, fc.array(bundle, { maxLength: 4 }), (missing, bundles) => {
      const { archived, unexplained } = judge(missing, bundles)
      expect(archived).toBe(mostOf(missing, bundles))
      expect(archived + unexplained).toBe(missing.length)
    }),
    { numRuns: 2_000 },
  )
})

/** Every way tried. */
function mostOf([first, ...rest]: readonly number[], bundles: readonly Bundle[]): number {
  if (first === undefined) return 0
  const ways = bundles.flatMap((bundle, i) =>
    bundle.count > 0 && bundle.from <= first && first <= bundle.to
      ? [1 + mostOf(rest, bundles.with(i, { ...bundle, count: bundle.count - 1 }))]
      : [],
  )
  return Math.max(mostOf(rest, bundles), ...ways)
}

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
