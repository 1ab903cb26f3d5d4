import type { DatabaseRequest, Statement, StatementForEach, Steps } from './connection.ts'
import { columnTypes, type PostgresClient, type PostgresQuery } from './postgres-pool.ts'
import { insertOf } from './rows-of-insert.ts'

/** Rows per insert: each number of rows is a statement of its own. */
const rowsAtOnce = 64

/** One transaction on a connection. Requests are sent at once, and answered in order. */
export class PostgresSession {
  readonly #client: PostgresClient
  /** The first error: what follows in an aborted transaction only says that it is one. */
  #failure: unknown
  /** Statements whose answers nobody has awaited. */
  #unanswered: Promise<unknown>[] = []

  constructor(client: PostgresClient) {
    this.#client = client
    client.on('error', this.#onError)
  }

  get failure(): unknown {
    return this.#failure
  }

  readonly #onError = (error: Error) => {
    this.#failure ??= error
  }

  /** Sends a query without waiting for those before it. */
  send(query: PostgresQuery): ReturnType<PostgresClient['query']> {
    const answer = this.#client.query({ ...query, types: columnTypes })
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
    if (!('forEach' in request)) return (await this.send(toQuery(request))).rows
    for (const insert of toInserts(request)) this.#unanswered.push(this.send(toQuery(insert)))
    return []
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

  /** Gives the connection back. A broken one is closed. */
  end(isBroken: boolean): void {
    this.#client.off('error', this.#onError)
    this.#client.release(isBroken)
  }
}

const texts = new Map<string, string>()

/** Our statements mark parameters as SQLite does. None of them has a question mark in a literal. */
function toQuery({ sql, parameters }: Statement): PostgresQuery {
  let text = texts.get(sql)
  if (text === undefined) {
    let marks = 0
    text = sql.replaceAll('?', () => `$${++marks}`)
    texts.set(sql, text)
  }
  return { text, values: [...parameters] }
}

/** Writes a statement for many rows as inserts of many rows; another statement for each row. */
function* toInserts({ sql, forEach }: StatementForEach): Iterable<Statement> {
  const size = insertOf(sql, 1) === undefined ? 1 : rowsAtOnce
  for (let from = 0; from < forEach.length; from += size) {
    const page = forEach.slice(from, from + size)
    yield { sql: insertOf(sql, page.length) ?? sql, parameters: page.flat() }
  }
}
