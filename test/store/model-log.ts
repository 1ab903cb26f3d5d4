import fc from 'fast-check'
import { expect } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { Append, Appended, StreamExpectation } from '../../src/store/writing/append.ts'
import { appendOf, at } from './append-of.ts'

/** A log so simple that it is obviously correct: arrays and maps, one append at a time. */
class ModelLog {
  readonly events: { stream: string; version: number; data: unknown }[] = []
  #receipts = new Map<string, number>()
  #index = new Map<string, string>()

  /** Copies the log, to try another order of appends. */
  copy(): ModelLog {
    const copied = new ModelLog()
    copied.events.push(...this.events)
    copied.#receipts = new Map(this.#receipts)
    copied.#index = new Map(this.#index)
    return copied
  }

  append({ streams, events, receipt, indexEntries = [] }: Append): string {
    const known = receipt && this.#receipts.get(receipt.commandId)
    if (known !== undefined) return `known ${known}`
    if (!streams.every(({ stream, expect }) => isExpected(expect, this.#versionOf(stream)))) return 'conflict'
    if (!indexEntries.every(each => this.#index.get(String(each.digest)) === each.replaces)) return 'conflict'
    for (const { stream, event } of events) {
      this.events.push({ stream, version: this.#versionOf(stream) + 1, data: event.data })
    }
    for (const each of indexEntries) this.#index.set(String(each.digest), each.value)
    const position = this.events.length + 1
    if (receipt) this.#receipts.set(receipt.commandId, position)
    return `appended ${position}`
  }

  #versionOf(stream: string): number {
    return this.events.filter(each => each.stream === stream).length
  }
}

function isExpected(expected: StreamExpectation, version: number): boolean {
  if (expected === 'any') return true
  if (expected === 'none') return version === 0
  if (expected === 'exists') return version > 0
  return expected === version
}

/** Formats the result of an append as its status and position. */
export function describeResult(appended: Appended): string {
  if (appended.status === 'known') return `known ${appended.receipt.position}`
  return appended.status === 'conflict' ? 'conflict' : `appended ${appended.position}`
}

const streams = ['bench-a', 'bench-b', 'bench-c']
const expectation = fc.oneof(fc.constantFrom<StreamExpectation>('none', 'exists', 'any', 'any'), fc.nat({ max: 4 }))
const anAppend: fc.Arbitrary<Append> = fc
  .record({
    expected: fc.uniqueArray(fc.record({ stream: fc.constantFrom(...streams), expect: expectation }), {
      selector: each => each.stream,
      maxLength: 3,
    }),
    writes: fc.array(fc.nat({ max: 2 }), { maxLength: 3 }),
    receipt: fc.option(fc.constantFrom('c1', 'c2', 'c3', 'c4', 'c5', 'c6')),
    indexEntry: fc.option(
      fc.record({
        digest: fc.nat({ max: 3 }),
        value: fc.constantFrom('x', 'y'),
        replaces: fc.option(fc.constantFrom('x', 'y')),
      }),
    ),
    data: fc.record({
      n: fc.maxSafeInteger().map(n => (n === 0 ? 0 : n)),
      text: fc.string({ unit: 'grapheme', maxLength: 20 }).filter(text => text.isWellFormed()),
    }),
  })
  .map(({ expected, writes, receipt, indexEntry, data }) => ({
    at,
    streams: expected,
    events: writes.flatMap(i => (expected[i] ? appendOf(expected[i].stream, 'any', [{ data }]).events : [])),
    ...(receipt !== null && {
      receipt: { commandId: receipt, digest: new Uint8Array([1]), code: 'accepted' as const, detail: '' },
    }),
    ...(indexEntry !== null && {
      indexEntries: [
        {
          kind: 'k',
          digest: new Uint8Array([indexEntry.digest]),
          value: indexEntry.value,
          ...(indexEntry.replaces !== null && { replaces: indexEntry.replaces }),
        },
      ],
    }),
  }))

/** Rounds of appends on one log: each by one of two stores, or by both concurrently. */
const rounds = fc.array(
  fc.record({
    who: fc.constantFrom<readonly number[]>([0], [1], [0, 1]),
    appends: fc.array(anAppend, { minLength: 1, maxLength: 12 }),
  }),
  { minLength: 1, maxLength: 12 },
)

/** The model after the appends of a round in a given order, with the result of each. */
function inOrder(before: ModelLog, order: readonly (readonly Append[])[]) {
  const model = before.copy()
  return { model, results: new Map(order.flat().map(each => [each, model.append(each)])) }
}

/**
 * Checks that random appends by two stores on one log, one by one or concurrent, match the model. The appends of one
 * store in a round are one commit, so with two stores either order is right.
 */
export async function checkAgainstModel(newPlace: () => () => Promise<Store>, numRuns: number): Promise<void> {
  const seen = new Set<string>()
  const check = fc.asyncProperty(rounds, async given => {
    const open = newPlace()
    const stores = [await open(), await open()]
    let model = new ModelLog()
    for (const { who, appends } of given) {
      const shares = who.map((store, i) => ({
        store,
        appends: appends.filter((_, n) => n % who.length === i),
      }))
      const all = shares.flatMap(share => share.appends.map(each => ({ each, store: share.store })))
      const made = await Promise.all(all.map(({ each, store }) => stores[store]?.append(each)))
      const orders = [shares, [...shares].reverse()].map(order =>
        inOrder(
          model,
          order.map(share => share.appends),
        ),
      )
      const results = made.map(each => each && describeResult(each))
      const expected = orders.map(order => all.map(({ each }) => order.results.get(each)))
      expect(expected).toContainEqual(results)
      model = orders[expected.findIndex(each => String(each) === String(results))]?.model ?? model
      for (const each of results) seen.add(each?.split(' ')[0] ?? '')
      if (shares.length > 1 && String(expected[0]) !== String(expected[1])) seen.add('order mattered')
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
