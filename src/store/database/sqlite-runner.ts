import type { Database, Statement as Prepared } from 'better-sqlite3'
import type { AttemptSteps, Statement, StatementForEach, Steps } from './connection.ts'

const statementsKeptMax = 500
/** How many rows one statement inserts: more would save little. */
const rowsAtOnce = 16

/** Runs steps on one SQLite connection, in one go, with statements prepared once. */
export class SqliteRunner {
  readonly #database: Database
  readonly #statements = new Map<string, Prepared>()
  /** Inserts of many rows, by those of one row. */
  readonly #wide = new Map<string, string>()

  constructor(database: Database) {
    this.#database = database
  }

  /** Runs steps to their end. The transaction that they run in is the caller's. */
  run<T>(work: Steps<T>): T {
    let step = work.next()
    while (!step.done) step = work.next(this.#answer(step.value))
    return step.value
  }

  /** Prepares a statement, or finds it prepared: one of ours is made steady, a host's stays as it is. */
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

  #answer(request: Statement | StatementForEach | AttemptSteps): readonly unknown[] {
    if ('attempt' in request) return this.#attempt(request.attempt)
    if ('forEach' in request) return this.#answerEach(request)
    const statement = this.prepare(request.sql)
    if (request.isColumn) return allOfColumn(statement, request.parameters)
    if (statement.reader) return statement.all(...request.parameters)
    statement.run(...request.parameters)
    return []
  }

  /** Inserts many rows per statement, which takes two thirds of the time of one by one. */
  #answerEach({ sql, forEach }: StatementForEach): readonly unknown[] {
    let done = 0
    if (forEach.length >= rowsAtOnce && insertedRow.test(sql)) {
      const statement = this.prepare(this.#insertingMany(sql))
      for (; done + rowsAtOnce <= forEach.length; done += rowsAtOnce)
        statement.run(forEach.slice(done, done + rowsAtOnce).flat())
    }
    if (done === forEach.length) return []
    const statement = this.prepare(sql)
    for (; done < forEach.length; done++) statement.run(...(forEach[done] ?? []))
    return []
  }

  /** Turns an insert of one row into one of many. */
  #insertingMany(sql: string): string {
    let text = this.#wide.get(sql)
    if (!text) {
      text = sql.replace(insertedRow, row => Array(rowsAtOnce).fill(row).join(', '))
      this.#wide.set(sql, text)
    }
    return text
  }

  /** On some errors, such as a full disk, SQLite ends the whole transaction: then the attempt cannot go on. */
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

/** Leaves the statement as it was: others share it and ask for rows. */
function allOfColumn(statement: Prepared, parameters: readonly unknown[]): readonly unknown[] {
  try {
    return statement.pluck(true).all(...parameters)
  } finally {
    statement.pluck(false)
  }
}

/**
 * SQLite looks at the values of parameters to choose its plan, and compiles the statement anew for every other value:
 * for most of ours that takes many times as long as their work. It does not look behind a plus, which changes nothing
 * else. No statement of ours has a question mark in a literal.
 */
function steady(sql: string): string {
  return sql.replaceAll('?', '+?')
}

/** What stands for one row of an insert, parameters or not. */
const insertedRow = /(?<=values )\([^()]+\)/
