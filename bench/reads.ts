import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { buildLog } from './build-log.ts'
import { interleave, medianOf, rateOf, ratioOf } from './measure.ts'
import { openEmmett } from './peers.ts'
import { consentEvent, createId, openStore } from './workload.ts'

const events = 100_000
const emmettEvents = 10_000
const pageRows = 1_000

/** Reads the whole log, and rebuilds a view, against better-sqlite3 and JSON.parse alone, and against Emmett. */
export async function benchReads(
  folder: string,
  say: (line: string) => void,
): Promise<Record<string, number>> {
  say(`readings: ${events} events, and a view of ${events / 20} rows`)
  const store = await openStore(folder, 'reads.sqlite')
  await buildLog(store, events, events / 20, say)
  const raw = new Sqlite(join(folder, 'reads.sqlite'), { readonly: true })
  const out = new Sqlite(join(folder, 'rows.sqlite'))
  out.pragma('journal_mode = wal')
  out.pragma('synchronous = full')
  const emmett = await openEmmett(join(folder, 'emmett-reads.sqlite'), say)
  const { data } = consentEvent(`consent-${createId()}`, 2).event
  await emmett.appendAll(emmettEvents, 64, () => `consent-${createId()}`, data as object)
  const rates = await interleave(
    {
      rawScan: () => rateOf(events, () => rawScan(raw, () => undefined)),
      scan: () =>
        rateOf(events, async () => {
          let seen = 0
          for (let after = 0; ; ) {
            const page = await store.read({ after })
            if (page.length === 0) break
            seen += page.length
            after = page.at(-1)?.position ?? after
          }
          if (seen < events) throw new TypeError(`Only ${seen} events were read`)
        }),
      rawRebuild: () => rateOf(events, () => rawRebuild(raw, out)),
      rebuild: () =>
        rateOf(events, async () => {
          const [rebuilt] = await store.rebuild({ views: ['consents'], compare: false })
          if (rebuilt?.rows !== events / 20) throw new TypeError(`The view has ${rebuilt?.rows} rows`)
        }),
      emmettConsumer: () => rateOf(emmettEvents, () => emmett.consumeAll(emmettEvents)),
    },
    say,
  )
  emmett.close()
  raw.close()
  out.close()
  await store.close()
  return {
    rawScanPerSecond: Math.round(medianOf(rates.rawScan)),
    rebuildPerSecond: Math.round(medianOf(rates.rebuild)),
    emmettConsumerPerSecond: Math.round(medianOf(rates.emmettConsumer)),
    scan: ratioOf(rates.scan, rates.rawScan),
    rebuild: ratioOf(rates.rebuild, rates.rawRebuild),
    vsEmmettConsumer: ratioOf(rates.rebuild, rates.emmettConsumer),
  }
}

/** The limit of reading: pages of headers, each parsed. */
function rawScan(database: Sqlite.Database, see: (event: Header) => void): void {
  const page = database.prepare(
    'select position, header from event where position > ? order by position limit ?',
  )
  for (let after = 0; ; ) {
    const rows = page.all(after, pageRows) as { position: number; header: string }[] // As asked.
    for (const { header } of rows) see(JSON.parse(header))
    const last = rows.at(-1)
    if (!last) return
    after = last.position
  }
}

interface Header {
  readonly stream: string
  readonly at: string
  readonly data: Record<string, string>
}

/** The limit of rebuilding: the scan, a fold into a Map, and the rows written at the end. */
function rawRebuild(log: Sqlite.Database, out: Sqlite.Database): void {
  const rows = new Map<string, object>()
  rawScan(log, ({ stream, at, data }) => {
    rows.set(stream, { ...rows.get(stream), consent: stream, changed_at: at, ...data })
  })
  out.exec(`drop table if exists rows; create table rows (consent text primary key, subject text, status text,
    created_at text, expires_at text, controller text, changed_at text, knowledge text, record text, detail text,
    described_at text) strict`)
  const insert = out.prepare('insert into rows values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  out.transaction(() => {
    for (const row of rows.values()) {
      const { consent, subject, status, createdAt, expiresAt, controller, changed_at } = row as Record<
        string,
        string
      >
      const cells = [consent, subject, status, createdAt, expiresAt, controller, changed_at, 'known']
      insert.run(...cells, `${consent}/1/record`, null, null)
    }
  })()
}
