import { expect, test } from 'vitest'
import type { openAverba } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { append, open } from '../../support/counting.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

/** An engine on a log of more events than a page, in ten streams, beside another store that appends. */
async function given(events: number) {
  const path = temporaryStore()
  const other = await open(path, [])
  await append(other, events)
  const averba = await openEngine({ store: path, clock: new VirtualClock() })
  return { averba, other }
}

type Filter = Parameters<Awaited<ReturnType<typeof openAverba>>['log']['read']>[0]

test('the log is read to its end in either direction while others append', async () => {
  const { averba, other } = await given(2_500)
  const positions = async (filter: Filter, onFirst = async () => {}) => {
    const found: number[] = []
    for await (const { position } of averba.log.read(filter)) {
      if (found.length === 0) await onFirst()
      found.push(position)
    }
    return found
  }
  const all = await positions({})
  expect(all).toEqual(Array.from({ length: all.length }, (_, i) => i + 1))
  expect(all.length).toBeGreaterThan(2_500)
  expect(await positions({ backward: true })).toEqual([...all].reverse())
  expect(await positions({ after: 1_200 })).toEqual(all.slice(1_200))
  expect(await positions({ backward: true, after: 1_200 })).toEqual(all.slice(0, 1_199).reverse())
  const grown = await positions({ after: 900 }, () => append(other, 10))
  expect(grown).toEqual(Array.from({ length: all.length - 900 + 10 }, (_, i) => i + 901))
  expect(await positions({ kind: 'bench' })).toHaveLength(2_510)
})

test('a stream is read forward or backward from a version, across pages', async () => {
  const { averba } = await given(11_000)
  const versions = async (filter: Filter) => {
    const found: number[] = []
    for await (const { stream, version } of averba.log.read({ ...filter, stream: 'bench-3' })) {
      expect(stream).toBe('bench-3')
      found.push(version)
    }
    return found
  }
  expect(await versions({ fromVersion: 50 })).toEqual(Array.from({ length: 1_051 }, (_, i) => i + 50))
  const back = Array.from({ length: 1_050 }, (_, i) => 1_050 - i)
  expect(await versions({ fromVersion: 1_050, backward: true })).toEqual(back)
  expect(await versions({ fromVersion: 2_000, backward: true })).toHaveLength(1_100)
  for (const fromVersion of [0, -1, 1.5, Number.NaN])
    expect(() => averba.log.read({ stream: 'bench-3', fromVersion })).toThrow('Cannot use "fromVersion"')
  expect(() => averba.log.read({ fromVersion: 1 })).toThrow('there is no stream')
})
