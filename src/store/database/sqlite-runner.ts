import type { Database, Statement as Prepared } from 'better-sqlite3'
import type { AttemptSteps, Statement, StatementForEach, Steps } from './connection.ts'

const statementsKeptMax = 500
/** Rows per insert statement: more would save little. */
const rowsAtOnce = 16

/** Runs steps synchronously on one SQLite connection and keeps their prepared statements. */
export class SqliteRunner {
  readonly #database: Database
  readonly #statements = new Map<string, Prepared>()
  readonly #multiRowInserts = new Map<string, string>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Runs steps to their end. The caller opens and closes the transaction. */
  run<T>(work: Steps<T>): T {
    let step = work.next()
    while (!step.done) step = work.next(this.#execute(step.value))
    return step.value
  }

  /** Prepares a statement once. `rewrite` adapts our own statements; a host's must stay unchanged. */
  prepare(sql: string, rewrite = hideParameterValues): Prepared {
    const prepared = this.#statements.get(sql)
    if (prepared) return prepared
    const statement = this.#database.prepare(rewrite(sql))
    if (this.#statements.size >= statementsKeptMax) this.#statements.clear()
    this.#statements.set(sql, statement)
    return statement
  }

  forget(): void {
    this.#statements.clear()
  }

  #execute(request: Statement | StatementForEach | AttemptSteps): readonly unknown[] {
    if ('attempt' in request) return this.#executeAttempt(request.attempt)
    if ('forEach' in request) return this.#executeForEach(request)
    const statement = this.prepare(request.sql)
    if (request.isColumn) return readColumn(statement, request.parameters)
    if (statement.reader) return statement.all(...request.parameters)
    statement.run(...request.parameters)
    return []
  }

  /** Inserts many rows per statement: two thirds of the time of single inserts. */
  #executeForEach({ sql, forEach }: StatementForEach): readonly unknown[] {
    let done = 0
    if (forEach.length >= rowsAtOnce && insertedRowPattern.test(sql)) {
      const statement = this.prepare(this.#toMultiRowInsert(sql))
      for (; done + rowsAtOnce <= forEach.length; done += rowsAtOnce)
        statement.run(forEach.slice(done, done + rowsAtOnce).flat())
    }
    if (done === forEach.length) return []
    const statement = this.prepare(sql)
    for (; done < forEach.length; done++) statement.run(...(forEach[done] ?? []))
    return []
  }

  #toMultiRowInsert(sql: string): string {
    let text = this.#multiRowInserts.get(sql)
    if (!text) {
      text = sql.replace(insertedRowPattern, row => Array(rowsAtOnce).fill(row).join(', '))
      this.#multiRowInserts.set(sql, text)
    }
    return text
  }

  /** On some errors, such as a full disk, SQLite rolls back the whole transaction: then this throws. */
  #executeAttempt(steps: () => Steps<void>): readonly unknown[] {
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

/** Resets `pluck` afterwards, because other callers share the statement and expect rows. */
function readColumn(statement: Prepared, parameters: readonly unknown[]): readonly unknown[] {
  try {
    return statement.pluck(true).all(...parameters)
  } finally {
    statement.pluck(false)
  }
}

/**
 * SQLite plans by the values of parameters and recompiles the statement for every new value, which often takes many
 * times as long as running it. A unary plus hides the value and changes nothing else. None of our own statements has a
 * question mark in a literal.
 */
function hideParameterValues(sql: string): string {
  return sql.replaceAll('?', '+?')
}

/** Matches the value list of an insert of one row. */
const insertedRowPattern = /(?<=values )\([^()]+\)/
