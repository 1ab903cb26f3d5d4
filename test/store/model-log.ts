import fc from 'fast-check'
import { expect } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { Append, Appended, StreamExpectation } from '../../src/store/writing/append.ts'
import { appendOf, at } from './append-of.ts'
import { receiptOf } from './conformance/place.ts'

/** A log so simple that it is obviously correct: arrays and maps, one append at a time. */
const emptyModel = {
  events: [] as { stream: string; version: number; data: unknown }[],
  receipts: new Map<string, number>(),
  index: new Map<string, string>(),
}

function appendTo(log: typeof emptyModel, { streams, events, receipt, indexEntries = [] }: Append): string {
  const versionOf = (stream: string) => log.events.filter(each => each.stream === stream).length
  const known = receipt && log.receipts.get(receipt.commandId)
  if (known !== undefined) return `known ${known}`
  if (!streams.every(({ stream, expect }) => isExpected(expect, versionOf(stream)))) return 'conflict'
  if (!indexEntries.every(each => log.index.get(String(each.digest)) === each.replaces)) return 'conflict'
  for (const { stream, event } of events) log.events.push({ stream, version: versionOf(stream) + 1, data: event.data })
  for (const each of indexEntries) log.index.set(String(each.digest), each.value)
  const position = log.events.length + 1
  if (receipt) log.receipts.set(receipt.commandId, position)
  return `appended ${position}`
}

function isExpected(expected: StreamExpectation, version: number): boolean {
  if (expected === 'any') return true
  if (expected === 'none') return version === 0
  if (expected === 'exists') return version > 0
  return expected === version
}

function describeResult(appended: Appended): string {
  if (appended.status === 'known') return `known ${appended.receipt.position}`
  return appended.status === 'conflict' ? 'conflict' : `appended ${appended.position}`
}

const streams = ['bench-a', 'bench-b', 'bench-c']
const expectation = fc.oneof(fc.constantFrom<StreamExpectation>('none', 'exists', 'any', 'any'), fc.nat({ max: 4 }))
const entry = fc.record(
  {
    kind: fc.constant('k'),
    digest: fc.nat({ max: 3 }).map(n => new Uint8Array([n])),
    value: fc.constantFrom('x', 'y'),
    replaces: fc.constantFrom('x', 'y'),
  },
  { requiredKeys: ['kind', 'digest', 'value'] },
)
const anAppend: fc.Arbitrary<Append> = fc
  .record(
    {
      streams: fc.uniqueArray(fc.record({ stream: fc.constantFrom(...streams), expect: expectation }), {
        selector: each => each.stream,
        maxLength: 3,
      }),
      writes: fc.array(fc.nat({ max: 2 }), { maxLength: 3 }),
      data: fc.record({
        n: fc.maxSafeInteger().map(n => (n === 0 ? 0 : n)),
        text: fc.string({ unit: 'grapheme', maxLength: 20 }).filter(text => text.isWellFormed()),
      }),
      receipt: fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5', 'c6').map(id => receiptOf(id)),
      indexEntries: entry.map(each => [each]),
    },
    { requiredKeys: ['streams', 'writes', 'data'] },
  )
  .map(({ writes, data, ...append }) => {
    const written = writes.flatMap(i => append.streams[i]?.stream ?? [])
    return { ...append, at, events: written.flatMap(stream => appendOf(stream, 'any', [{ data }]).events) }
  })

/** Rounds of appends on one log: each by one of two stores, or by both concurrently. */
const rounds = fc.array(
  fc.record({
    who: fc.constantFrom<readonly number[]>([0], [1], [0, 1]),
    appends: fc.array(anAppend, { minLength: 1, maxLength: 12 }),
  }),
  { minLength: 1, maxLength: 12 },
)

/**
 * Checks that random appends by two stores on one log, one by one or concurrent, match the model. The appends of one
 * store in a round are one commit, so with two stores either order is right.
 */
export async function checkAgainstModel(newPlace: () => () => Promise<Store>, numRuns: number): Promise<void> {
  const seen = new Set<string>()
  const check = fc.asyncProperty(rounds, async given => {
    const open = newPlace()
    const stores = [await open(), await open()]
    let model = emptyModel
    for (const { who, appends } of given) {
      const shares = who.map((_, i) => appends.filter((_, n) => n % who.length === i))
      const appending = shares.flatMap((share, i) => share.map(each => stores[who[i] ?? 0]?.append(each)))
      const results = (await Promise.all(appending)).map(made => made && describeResult(made))
      const orders = [shares, shares.toReversed()].map(order => {
        const after = structuredClone(model)
        const made = new Map(order.flat().map(each => [each, appendTo(after, each)]))
        return { after, expected: shares.flat().map(each => made.get(each)) }
      })
      expect(orders.map(({ expected }) => expected)).toContainEqual(results)
      model = orders.find(({ expected }) => String(expected) === String(results))?.after ?? model
      for (const each of results) seen.add(each?.split(' ')[0] ?? '')
      if (new Set(orders.map(({ expected }) => String(expected))).size > 1) seen.add('order mattered')
    }
    for (const store of stores) await store.close()
    const again = await open()
    const events = await again.read({ after: 1 })
    expect(events.map(({ stream, version, data }) => ({ stream, version, data }))).toEqual(model.events)
    expect(events.map(each => each.position)).toEqual(model.events.map((_, i) => i + 2))
    await again.close()
  })
  await fc.assert(check, { numRuns })
  // Few runs may not have met all of it.
  for (let more = 0; seen.size < 4 && more < 10; more++) await fc.assert(check, { numRuns })
  expect(seen).toEqual(new Set(['appended', 'conflict', 'known', 'order mattered']))
}
