import { AverbaError } from '../../vocabulary/errors.ts'
import type { DatabaseRequest, Statement, StatementForEach, Steps } from './connection.ts'
import { isReading, mergeReadings } from './merged-reading.ts'
import { insertFromArrays, sizeOf } from './postgres-inserts.ts'
import { columnTypes, type PostgresClient, type PostgresQuery } from './postgres-pool.ts'
import { quoteSchema } from './schema.ts'

/** How long a server may take for the answers to what is sent at once, each with its own limit: then it is lost. */
const silentMaxMs = 60_000
/** How long it may still take once the log is closed. */
const closedMaxMs = 1_000

const [rowsAtOnce, bytesAtOnce] = [256, 32 * 1024 ** 2]

interface AskedStatement {
  readonly statement: Statement
  readonly resolve: (rows: readonly unknown[]) => void
  readonly reject: (error: unknown) => void
}

/** One transaction on a connection. Requests are sent at once, and answered in order. */
export class PostgresSession {
  readonly #client: PostgresClient
  readonly #waitMaxMs: number
  readonly #closed: AbortSignal | undefined
  /** The first error: what follows in an aborted transaction only says that it is one. */
  #failure: unknown
  readonly #asked: AskedStatement[] = []
  /** Statements whose answers nobody has awaited. */
  #unanswered: Promise<unknown>[] = []

  /**
   * @param waitMaxMs how long to wait for an answer; 0 for as long as the pool allows
   * @param closed aborts when the log is closed
   */
  constructor(client: PostgresClient, waitMaxMs = silentMaxMs, closed?: AbortSignal) {
    this.#client = client
    this.#waitMaxMs = waitMaxMs
    this.#closed = closed
    client.on('error', this.#onError)
    closed?.addEventListener('abort', this.#cut)
  }

  get failure(): unknown {
    return this.#failure
  }

  readonly #onError = (error: Error) => {
    this.#failure ??= error
  }

  /** The driver closes a connection with an answer that is late, and fails all that waits on it. */
  readonly #cut = () => this.tell({ text: 'select 1', query_timeout: closedMaxMs })

  /** Sends a query without waiting for those before it. */
  send(query: PostgresQuery): ReturnType<PostgresClient['query']> {
    const answer = this.#client.query({ types: columnTypes, query_timeout: this.#waitMaxMs, ...query })
    answer.catch(this.#onError)
    return answer
  }

  /** Sends a query whose answer nobody needs. */
  tell(query: PostgresQuery): void {
    void this.send(query)
  }

  /** Runs steps. Awaits requests with rows only: what fails in others, statements for many, fails the commit. */
  async run<T>(work: Steps<T>): Promise<T> {
    let step = work.next()
    while (!step.done) step = work.next(await this.#answer(step.value))
    return step.value
  }

  async #answer(request: DatabaseRequest): Promise<readonly unknown[]> {
    if ('attempt' in request) return this.#attempt(request.attempt)
    return 'together' in request ? this.#all(request.together) : this.#one(request)
  }

  /** Sends statements at once. Rejects when all have been answered, so that none is still running. */
  async #all(requests: readonly (Statement | StatementForEach)[]): Promise<readonly (readonly unknown[])[]> {
    const answers = await Promise.allSettled(requests.map(request => this.#one(request)))
    return answers.map(answer => {
      if (answer.status === 'rejected') throw answer.reason
      return answer.value
    })
  }

  async #one(request: Statement | StatementForEach): Promise<readonly unknown[]> {
    if (!('forEach' in request) && isReading(request.sql)) return this.#read(request)
    // Statements run in order.
    this.#sendAsked()
    if (!('forEach' in request)) return (await this.send(toQuery(request))).rows
    for (const query of toQueries(request)) this.#unanswered.push(this.send(query))
    return []
  }

  /** Sends the readings of this turn together, those of one text as one. */
  #read(statement: Statement): Promise<readonly unknown[]> {
    // The server would refuse it, and with it the readings of others.
    if (statement.parameters.some(value => typeof value === 'string' && value.includes('\0')))
      return Promise.reject(new AverbaError('INVALID_INPUT', 'Cannot look for a text with the character NUL'))
    return new Promise((resolve, reject) => {
      this.#asked.push({ statement, resolve, reject })
      if (this.#asked.length === 1) queueMicrotask(() => this.#sendAsked())
    })
  }

  #sendAsked(): void {
    if (this.#asked.length === 0) return
    for (const alike of Map.groupBy(this.#asked.splice(0), ({ statement }) => statement.sql).values()) {
      const merged = mergeReadings(alike.map(({ statement }) => statement))
      if (merged) {
        this.send(merged.query).then(
          ({ rows }) => {
            for (const [i, found] of merged.split(rows).entries()) alike[i]?.resolve(found)
          },
          (error: unknown) => {
            for (const { reject } of alike) reject(error)
          },
        )
      } else
        for (const { statement, resolve, reject } of alike)
          this.send(toQuery(statement)).then(({ rows }) => resolve(rows), reject)
    }
  }

  /** Waits for what was not awaited, and throws the error of the first that failed. */
  async #answerAll(): Promise<void> {
    await Promise.all(this.#unanswered.splice(0))
  }

  async #attempt(steps: () => Steps<void>): Promise<readonly unknown[]> {
    await this.#answerAll()
    const before = this.#failure
    const saved = this.send({ text: 'savepoint attempt' })
    try {
      await this.run(steps())
      await this.#answerAll()
      await saved
      // The next request, or the commit, fails if this one does.
      void this.send({ text: 'release savepoint attempt' })
      return []
    } catch (error) {
      this.#unanswered = []
      await this.send({ text: 'rollback to savepoint attempt; release savepoint attempt' })
      this.#failure = before
      return [error]
    }
  }

  /** Ends its transaction, and gives the connection back. */
  finish(how: 'commit' | 'rollback'): Promise<void> {
    return this.send({ text: how }).then(
      () => this.end(false),
      () => this.end(true),
    )
  }

  /** Gives the connection back. A broken one is closed. */
  end(isBroken: boolean): void {
    this.#closed?.removeEventListener('abort', this.#cut)
    this.#client.off('error', this.#onError)
    this.#client.release(isBroken)
  }
}

/**
 * What a transaction needs, whatever the server, the role or another user of the session has set: only its schema is
 * searched, also before temporary tables, bytes are in hexadecimal, and the lock of the log is waited for.
 */
export function transactionSettings(schema: string): string {
  return `set local search_path to ${quoteSchema(schema)}, pg_temp; set local bytea_output to hex; set local lock_timeout to 0`
}

const texts = new Map<string, string>()

/** Our statements mark parameters as SQLite does, and have no other question mark. */
function toQuery({ sql, parameters }: Statement): PostgresQuery {
  let text = texts.get(sql)
  if (text === undefined) {
    let marks = 0
    text = sql.replaceAll('?', () => `$${++marks}`)
    if (marks !== parameters.length) throw new TypeError(`A statement has ${marks} marks: ${sql}`)
    texts.set(sql, text)
  }
  return { text, values: [...parameters] }
}

/** Writes a statement for many rows as inserts of many rows; another statement for each row. */
function* toQueries({ sql, forEach }: StatementForEach): Iterable<PostgresQuery> {
  for (let from = 0, end = 0; from < forEach.length; from = end) {
    for (let bytes = 0; end < forEach.length && end < from + rowsAtOnce && bytes < bytesAtOnce; end++)
      for (const value of forEach[end] ?? []) bytes += sizeOf(value)
    const page = forEach.slice(from, end)
    const many = page.length > 1 ? insertFromArrays(sql, page) : undefined
    if (many) yield many
    else for (const parameters of page) yield toQuery({ sql, parameters })
  }
}
