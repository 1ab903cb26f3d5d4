import { join } from 'node:path'
import { copyLog } from './copy-log.ts'
import { readHeaderText } from './header-text.ts'
import { type Figures, interleave, medianOf, rateOf, ratioOf, type Say } from './measure.ts'
import { openEmmett } from './peers.ts'
import { RawLog } from './raw-log.ts'
import { RawRows } from './raw-rows.ts'
import { openEngine, validateAll } from './validations.ts'
import { Callers, consentEvent, createId, eventsPerStream, openStore } from './workload.ts'

const callers = 64
const manyEvents = 12_800
const fewEvents = 2_000
const emmettEvents = 1_280

/** Appends of 64 callers, bare, against raw inserts. */
export async function benchAppendBare(folder: string, say: Say): Promise<Figures> {
  const bare = await openBare(folder, say, callers)
  const { raw, averba } = await interleave(
    {
      raw: () => rateOf(manyEvents, () => bare.raw.insert(manyEvents)),
      averba: () => rateOf(manyEvents, () => bare.callers.append(manyEvents)),
    },
    say,
  )
  await bare.close()
  return {
    rawPerSecond64: Math.round(medianOf(raw)),
    barePerSecond64: Math.round(medianOf(averba)),
    appendBare64: ratioOf(averba, raw),
  }
}

/** Appends of one caller, bare, against raw inserts. */
export async function benchAppendOne(folder: string, say: Say): Promise<Figures> {
  const bare = await openBare(folder, say, 1)
  const { raw, averba } = await interleave(
    {
      raw: () => rateOf(fewEvents, () => bare.raw.insert(fewEvents)),
      averba: () => rateOf(fewEvents, () => bare.callers.append(fewEvents)),
    },
    say,
  )
  await bare.close()
  return { append1: ratioOf(averba, raw) }
}

/** Appends of 64 callers, bare, against Emmett. */
export async function benchAppendPeer(folder: string, say: Say): Promise<Figures> {
  const bare = await openBare(folder, say, callers)
  const peer = await openEmmett(join(folder, 'emmett.sqlite'), say)
  const { data } = consentEvent(`consent-${createId()}`, 2).event
  const append = () => peer.appendAll(emmettEvents, callers, () => `consent-${createId()}`, data as object)
  const { emmett, averba } = await interleave(
    {
      emmett: () => rateOf(emmettEvents, append),
      averba: () => rateOf(manyEvents, () => bare.callers.append(manyEvents)),
    },
    say,
  )
  peer.close()
  await bare.close()
  return { emmettPerSecond64: Math.round(medianOf(emmett)), vsEmmett64: ratioOf(averba, emmett) }
}

/** Appends of 64 callers through the engine, against raw inserts of bare rows, and of the very rows of these. */
export async function benchAppendFull(folder: string, say: Say): Promise<Figures> {
  const bare = await openBare(folder, say, callers)
  const path = join(folder, 'full.sqlite')
  const store = await openStore(folder, 'full.sqlite')
  const engine = await openEngine(store)
  await validateAll(engine, callers, callers)
  say(`  headers of ${(await readHeaderText(store)).length} bytes through the engine`)
  const own = new RawRows(join(folder, 'own-rows.sqlite'), copyLog(path), createId)
  const { raw, ownRows, averba } = await interleave(
    {
      raw: () => rateOf(manyEvents, () => bare.raw.insert(manyEvents)),
      ownRows: () => {
        const rows = own.make(manyEvents / 2)
        return rateOf(rows.length, () => own.insert(rows, callers))
      },
      averba: () => rateOf(manyEvents / 2, () => validateAll(engine, manyEvents / 2, callers)),
    },
    say,
  )
  own.close()
  await store.close()
  await bare.close()
  return {
    rawFullPerSecond64: Math.round(medianOf(ownRows)),
    fullPerSecond64: Math.round(medianOf(averba)),
    appendFull64: ratioOf(averba, raw),
    appendFull64VsOwnRows: ratioOf(averba, ownRows),
  }
}

interface Bare {
  readonly callers: Callers
  readonly raw: RawLog
  close(): Promise<void>
}

/** A store with callers, and beside it the raw log, with the same rows. */
async function openBare(folder: string, say: Say, count: number): Promise<Bare> {
  const store = await openStore(folder, 'bare.sqlite', [])
  const many = new Callers(store, count)
  // Far enough into the log: a position of one digit makes rows of which one more fits on a page.
  await many.append(manyEvents)
  const rows = {
    type: 'consent.amended',
    header: await readHeaderText(store),
    eventsPerStream,
    callers: count,
  }
  const raw = new RawLog(join(folder, 'raw.sqlite'), rows)
  say(`appends: headers of ${rows.header.length} bytes, synchronous=FULL, callers: ${count}`)
  return {
    callers: many,
    raw,
    async close() {
      raw.close()
      await store.close()
    },
  }
}
