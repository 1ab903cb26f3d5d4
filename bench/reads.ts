import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { Store } from '../src/store/store.ts'
import { buildLog } from './build-log.ts'
import { copyLog } from './copy-log.ts'
import { type Figures, interleave, medianOf, rateOf, ratioOf, type Say } from './measure.ts'
import { openEmmett } from './peers.ts'
import { rawRebuild, rawScan } from './raw-reads.ts'
import { consentEvent, createId, openStore } from './workload.ts'

const events = 100_000
const emmettEvents = 10_000

/** Reads the whole log, against better-sqlite3 and JSON.parse alone. */
export async function benchScan(folder: string, say: Say): Promise<Figures> {
  const store = await openLog(folder, say)
  const log = new Sqlite(copyLog(join(folder, 'reads.sqlite')), { readonly: true })
  const { raw, averba } = await interleave(
    {
      raw: () => rateOf(events, () => rawScan(log, () => undefined)),
      averba: () => rateOf(events, () => scan(store)),
    },
    say,
  )
  log.close()
  await store.close()
  return { rawScanPerSecond: Math.round(medianOf(raw)), scan: ratioOf(averba, raw) }
}

/** Rebuilds a view, against better-sqlite3, JSON.parse and a Map alone. */
export async function benchRebuild(folder: string, say: Say): Promise<Figures> {
  const store = await openLog(folder, say)
  const log = new Sqlite(copyLog(join(folder, 'reads.sqlite')), { readonly: true })
  const out = new Sqlite(join(folder, 'rows.sqlite'))
  out.pragma('journal_mode = wal')
  out.pragma('synchronous = full')
  const { raw, averba } = await interleave(
    {
      raw: () => rateOf(events, () => rawRebuild(log, out)),
      averba: () => rateOf(events, () => rebuild(store)),
    },
    say,
  )
  log.close()
  out.close()
  await store.close()
  return { rebuildPerSecond: Math.round(medianOf(averba)), rebuild: ratioOf(averba, raw) }
}

/** Rebuilds a view, against Emmett's consumer. */
export async function benchRebuildPeer(folder: string, say: Say): Promise<Figures> {
  const store = await openLog(folder, say)
  const peer = await openEmmett(join(folder, 'emmett.sqlite'), say)
  const { data } = consentEvent(`consent-${createId()}`, 2).event
  await peer.appendAll(emmettEvents, 64, () => `consent-${createId()}`, data as object)
  const { emmett, averba } = await interleave(
    {
      emmett: () => rateOf(emmettEvents, () => peer.consumeAll(emmettEvents)),
      averba: () => rateOf(events, () => rebuild(store)),
    },
    say,
  )
  peer.close()
  await store.close()
  return {
    emmettConsumerPerSecond: Math.round(medianOf(emmett)),
    vsEmmettConsumer: ratioOf(averba, emmett),
  }
}

async function openLog(folder: string, say: Say): Promise<Store> {
  say(`readings: ${events} events, and a view of ${events / 20} rows`)
  const store = await openStore(folder, 'reads.sqlite')
  await buildLog(store, events, events / 20, say)
  return store
}

async function scan(store: Store): Promise<void> {
  let seen = 0
  for (let after = 0; ; ) {
    const page = await store.read({ after })
    if (page.length === 0) break
    seen += page.length
    after = page.at(-1)?.position ?? after
  }
  if (seen < events) throw new TypeError(`Only ${seen} events were read`)
}

async function rebuild(store: Store): Promise<void> {
  const [rebuilt] = await store.rebuild({ views: ['consents'], compare: false })
  if (rebuilt?.rows !== events / 20) throw new TypeError(`The view has ${rebuilt?.rows} rows`)
}
