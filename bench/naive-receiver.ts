import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, RequestListener } from 'node:http'
import Sqlite from 'better-sqlite3'

/**
 * The receiver that everybody writes first, as durable as ours (`synchronous=FULL`): it checks the secrets, inserts
 * the plain body in a transaction of its own, and answers 204.
 */
export class NaiveReceiver {
  readonly listener: RequestListener
  readonly #database: Sqlite.Database

  constructor(path: string, secrets: { readonly secret: string; readonly authorization: string }) {
    this.#database = new Sqlite(path)
    for (const pragma of ['journal_mode = wal', 'synchronous = full']) this.#database.pragma(pragma)
    this.#database.exec(`create table notification (id integer primary key, received_at text not null,
      evento text not null, recipient_kind text not null, recipient text not null, body text not null) strict`)
    const insert = this.#database.prepare(`insert into notification
      (received_at, evento, recipient_kind, recipient, body) values (?, ?, ?, ?, ?)`)
    this.listener = (incoming, outgoing) => {
      const isOurs = fits(incoming, 'secret', secrets.secret)
      if (!isOurs || !fits(incoming, 'authorization', secrets.authorization)) {
        outgoing.writeHead(401).end()
        return
      }
      const chunks: Buffer[] = []
      incoming.on('data', chunk => chunks.push(chunk))
      incoming.on('end', () => {
        const named = ['event-type', 'destinatario-tipo', 'destinatario-id'].map(name => incoming.headers[name])
        insert.run(new Date().toISOString(), ...named, Buffer.concat(chunks).toString())
        outgoing.writeHead(204).end()
      })
    }
  }

  /** How many it holds. */
  count(): number {
    const { count } = this.#database.prepare('select count(*) as count from notification').get() as {
      count: number
    } // As asked.
    return count
  }

  close(): void {
    this.#database.close()
  }
}

function fits({ headers }: IncomingMessage, name: string, expected: string): boolean {
  return timingSafeEqual(hash('sha256', String(headers[name]), 'buffer'), hash('sha256', expected, 'buffer'))
}
