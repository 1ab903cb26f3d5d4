import type { Database, Statement as Prepared } from 'better-sqlite3'
import type { Attempt, Statement, StatementForEach, Steps } from './connection.ts'

const statementsKeptMax = 500

/** Runs steps on one SQLite connection, in one go, with statements prepared once. */
export class SqliteRunner {
  readonly #database: Database
  readonly #statements = new Map<string, Prepared>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Runs steps to their end. The transaction that they run in is the caller's. */
  run<T>(work: Steps<T>): T {
    let step = work.next()
    while (!step.done) step = work.next(this.#answer(step.value))
    return step.value
  }

  /** Prepares a statement, or finds it prepared: one of ours is made steady, one of a host stands as it is. */
  prepare(sql: string, write = steady): Prepared {
    const known = this.#statements.get(sql)
    if (known) return known
    const statement = this.#database.prepare(write(sql))
    if (this.#statements.size >= statementsKeptMax) this.#statements.clear()
    this.#statements.set(sql, statement)
    return statement
  }

  /** Forgets the prepared statements. */
  forget(): void {
    this.#statements.clear()
  }

  #answer(request: Statement | StatementForEach | Attempt): readonly unknown[] {
    if ('attempt' in request) return this.#attempt(request.attempt)
    const statement = this.prepare(request.sql)
    if ('forEach' in request) {
      for (const parameters of request.forEach) statement.run(...parameters)
      return []
    }
    if (statement.reader) return statement.all(...request.parameters)
    statement.run(...request.parameters)
    return []
  }

  /** SQLite ends the whole transaction on some errors, such as a full disk: then there is nothing to go on with. */
  #attempt(steps: () => Steps<void>): readonly unknown[] {
    this.prepare('savepoint attempt').run()
    try {
      this.run(steps())
      this.prepare('release attempt').run()
      return []
    } catch (error) {
      if (!this.#database.inTransaction) throw error
      this.prepare('rollback to attempt').run()
      this.prepare('release attempt').run()
      return [error]
    }
  }
}

/**
 * SQLite looks at the values of parameters to choose its plan, and then compiles the statement anew for every other value:
 * for most of ours that takes many times as long as their work. It does not look behind a plus, which changes nothing
 * else. No statement of ours has a question mark in a literal.
 */
function steady(sql: string): string {
  return sql.replaceAll('?', '+?')
}
