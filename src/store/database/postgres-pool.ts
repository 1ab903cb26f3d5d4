import { systemClock, withinTime } from '../../runtime/clock.ts'
import { Semaphore } from '../../runtime/locks.ts'

/** A query, as node-postgres takes it. */
export interface PostgresQuery {
  readonly text: string
  readonly values?: unknown[]
  readonly types?: PostgresTypes
  /** The protocol that takes one statement only, also without values. */
  readonly queryMode?: 'extended'
  /** After so many milliseconds without its answer the connection is closed; 0 for the limit of the pool. */
  readonly query_timeout?: number
}

/** Parses the values of a column type, as node-postgres takes it. */
export interface PostgresTypes {
  getTypeParser(type: number): (text: string) => unknown
}

/** The answer to a query of one statement. */
export interface PostgresAnswer {
  readonly rows: readonly unknown[]
  /** What was done, such as `COMMIT`. */
  readonly command: string
}

/** A connection of a `PostgresPool`. */
export interface PostgresClient {
  query(query: PostgresQuery): Promise<PostgresAnswer>
  on: Listen
  off: Listen
  /** Gives it back, or with true closes it. */
  release(isBroken?: boolean): void
}

/** Adds or removes a listener of a connection: of its errors, its end, or what other sessions tell. */
export interface Listen {
  (event: 'error', listener: (error: Error) => void): unknown
  (event: 'end', listener: () => void): unknown
  (event: 'notification', listener: (told: { channel: string; payload?: string | undefined }) => void): unknown
}

/** Connections to one PostgreSQL server: a `Pool` of node-postgres, the package `pg`. */
export interface PostgresPool {
  /** At most `max` connections are open at the same time. */
  readonly options?: {
    readonly max?: number | undefined
    readonly pipeline?: boolean | undefined
    readonly binary?: boolean | undefined
    readonly connectionTimeoutMillis?: number | undefined
  }
  connect(): Promise<PostgresClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: Pick<PostgresClient, 'on'>) => void): unknown
  end(): Promise<void>
}

/** How long to wait for a connection. */
export const connectMaxMs = 10_000

/** Gets a connection. A pool of a host need have no limit of its own. */
export async function connect(pool: Pick<PostgresPool, 'connect' | 'options'>): Promise<PostgresClient> {
  const connecting = pool.connect()
  if ((pool.options?.connectionTimeoutMillis ?? 0) > 0) return connecting
  return withinTime(systemClock, connectMaxMs, () => connecting).catch(cause => {
    // One that comes late is given back.
    connecting.then(client => client.release()).catch(() => undefined)
    throw cause
  })
}

/** The connections of a pool of node-postgres that names no maximum, and how many of them queries of hosts may use. */
const [poolMax, hostQueriesMax] = [10, 3]
const hostQueries = new WeakMap<object, Semaphore>()

/** Limits the queries of hosts through one pool: slow ones leave connections to what must not wait. */
export function hostQueriesOf(pool: Pick<PostgresPool, 'options'>): Semaphore {
  const max = Math.max(1, Math.min(hostQueriesMax, (pool.options?.max ?? poolMax) - 1))
  const places = hostQueries.get(pool) ?? new Semaphore(max)
  hostQueries.set(pool, places)
  return places
}

const numberTypes = new Set([20, 21, 23, 700, 701, 1700])
const byteaType = 17
/** A number, as in SQLite. */
const booleanType = 16

/** Positions and counts are `bigint`, which node-postgres gives as text. They stay far below 2 ** 53. */
export const columnTypes: PostgresTypes = {
  getTypeParser: type => {
    if (numberTypes.has(type)) return Number
    if (type === booleanType) return text => (text === 't' ? 1 : 0)
    if (type === byteaType) return text => Buffer.from(text.slice(hexPrefix.length), 'hex')
    return text => text
  },
}
const hexPrefix = '\\x'

const jsonTypes = new Set([114, 3802])

/** Of the queries of a host, which may make JSON of rows. */
export const hostColumnTypes: PostgresTypes = {
  getTypeParser: type => (jsonTypes.has(type) ? JSON.parse : columnTypes.getTypeParser(type)),
}
