import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Engine } from '../src/engine/engine.ts'
import { collectTables } from '../src/engine/machine-tables.ts'
import { machines } from '../src/machines/machines.ts'
import { LogVerifier, type PresentPart } from '../src/proof/log-verifier.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { systemEntropy } from '../src/runtime/entropy.ts'
import { rows } from '../src/store/database/connection.ts'
import { Snapshot } from '../src/store/database/snapshot.ts'
import { leafHash, Tree } from '../src/store/log/tree.ts'
import { Store } from '../src/store/store.ts'
import { views } from '../src/views/views.ts'
import { type Figures, interleave, medianOf, rateOf, ratioOf, type Say } from './measure.ts'
import { openEngine, validateAll } from './validations.ts'
import { createId } from './workload.ts'

const verifiedEvents = 20_000
const appends = 3_200
const callers = 64

interface Stored {
  readonly header: string
  readonly parts: readonly { readonly name: string; readonly owner: string; readonly sealed: Uint8Array }[]
}

/** Verifies a log, against SHA-256 of the same bytes alone. */
export async function benchVerify(folder: string, say: Say): Promise<Figures> {
  const path = join(folder, 'verified.sqlite')
  const store = await openWithTables(path)
  await validateAll(await openEngine(store), verifiedEvents, callers)
  await store.close()
  const log = await readLog(path)
  const bytes = log.map(({ header, parts }) => [Buffer.from(`\0${header}`), ...parts.map(({ sealed }) => sealed)])
  const size = bytes.flat().reduce((sum, each) => sum + each.length, 0)
  say(`verify: ${log.length} events of ${Math.round(size / log.length)} bytes each, sealed parts included`)
  const rates = await interleave(
    {
      raw: () =>
        rateOf(log.length, () => {
          for (const each of bytes) for (const piece of each) hash('sha256', piece, 'hex')
        }),
      verify: () => rateOf(log.length, () => verifyAll(log)),
    },
    say,
  )
  return {
    rawPerSecond: Math.round(medianOf(rates.raw)),
    verifiedPerSecond: Math.round(medianOf(rates.verify)),
    verifyPerSecond: ratioOf(rates.verify, rates.raw),
  }
}

function verifyAll(log: readonly Stored[]): void {
  const verifier = new LogVerifier([], [])
  for (const { header, parts } of log) verifier.add(header, parts.map(toPresent))
  verifier.finish()
  const [fault] = verifier.faults.list()
  if (fault) throw new Error(`The log of the benchmark is broken: ${fault.examples[0]}`)
}

function toPresent({ name, owner, sealed }: Stored['parts'][number]): PresentPart {
  return { name, owner, hash: hash('sha256', sealed, 'hex'), bytes: sealed.length }
}

async function readLog(path: string): Promise<Stored[]> {
  await using reading = await Snapshot.open(path)
  const select = <R>(sql: string) => reading.read(() => rows<R>({ sql, parameters: [] }))
  const events = await select<{ position: number; header: string }>(selectEvents)
  const parts = await select<Stored['parts'][number] & { position: number }>(selectParts)
  const beside = Map.groupBy(parts, part => part.position)
  return events.map(({ position, header }) => ({ header, parts: beside.get(position) ?? [] }))
}

/**
 * Appends with a proof, against appends without.
 *
 * The store cannot append without leaf and tree: what those cost is measured by themselves, on the same headers, and
 * taken off an append without a part.
 */
export async function benchAppendCost(folder: string, say: Say): Promise<Figures> {
  const [whole, bare] = [
    await openEngine(await openWithTables(join(folder, 'whole.sqlite'))),
    await openEngine(await openWithTables(join(folder, 'bare.sqlite'))),
  ]
  const header = `{${'x'.repeat(700)}}`
  const rates = await interleave(
    {
      proven: () => rateOf(appends, () => validateAll(whole, appends, callers)),
      partless: () => rateOf(appends, () => requestAll(bare.engine, bare.subjects, appends)),
      leaves: () =>
        rateOf(appends, () => {
          const tree = new Tree()
          for (let i = 0; i < appends; i++) tree.add(leafHash(header))
          tree.root()
        }),
    },
    say,
  )
  await whole.engine.close()
  await bare.engine.close()
  const costs = rates.proven.map((proven, i) => {
    const without = 1 / (rates.partless[i] ?? Number.NaN) - 1 / (rates.leaves[i] ?? Number.NaN)
    return 1 / proven / without
  })
  return {
    provenPerSecond: Math.round(medianOf(rates.proven)),
    appendCost: Number(medianOf(costs).toFixed(3)),
  }
}

/** The same commands as `validateAll`, without the sealed part. */
async function requestAll(engine: Engine, subjects: readonly string[], count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let n = 0; n < count / callers; n++) {
        const subject = subjects[(n * callers + caller) % subjects.length] ?? ''
        const validation = createId()
        const message = { type: 'validation.request', data: { validation, id: validation, subject } }
        await engine.handle({ validation }, async () => ({
          targets: [{ stream: `validation-${validation}`, message, isNew: true }],
        }))
      }
    }),
  )
}

function openWithTables(path: string): Promise<Store> {
  const beginning = collectTables(machines)
  return Store.open({ path, views, clock: systemClock, entropy: systemEntropy, createId, beginning })
}

const selectEvents = 'select position, header from event order by position'
const selectParts = `select part.position, part.name, owner_key.owner, part.sealed from part
  join owner_key on owner_key.key = part.owner order by part.position, part.name`
