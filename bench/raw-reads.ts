import type Sqlite from 'better-sqlite3'

const pageRows = 1_000

/** The limit of reading: pages of headers, each parsed. */
export function rawScan(database: Sqlite.Database, see: (event: Header) => void): void {
  const page = database.prepare('select position, header from event where position > ? order by position limit ?')
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
export function rawRebuild(log: Sqlite.Database, out: Sqlite.Database): void {
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
      const { consent, subject, status, createdAt, expiresAt, controller, changed_at } = row as Record<string, string>
      const cells = [consent, subject, status, createdAt, expiresAt, controller, changed_at, 'known']
      insert.run(...cells, `${consent}/1/record`, null, null)
    }
  })()
}
