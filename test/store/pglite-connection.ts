import { PGlite, type Transaction } from '@electric-sql/pglite'
import type { CompiledQuery } from 'kysely'
import type { CheckTables, Connection, DatabaseRequest, Steps } from '../../src/store/database/connection.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'

/** A PostgreSQL database in this process. */
export class InProcessPostgres {
  readonly #database = new PGlite()
  #schemas = 0

  /** Makes an empty schema and returns a function that opens connections to it. */
  newSchema(): () => Promise<Connection> {
    const schema = `place_${++this.#schemas}`
    return async () => {
      await this.#database.exec(`create schema if not exists ${schema}`)
      return new PgliteConnection(this.#database, schema)
    }
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

/** A connection to PostgreSQL for one process. */
class PgliteConnection implements Connection {
  readonly dialect = 'postgres'
  readonly listTables = {
    sql: 'select tablename as name from pg_tables where schemaname = current_schema()',
    parameters: [],
  }
  /** Changes every time, so caches are always read again: slow but correct. */
  readonly foreignWrites = { sql: 'select txid_current() as mark', parameters: [] }
  readonly isShared = true
  readonly #database: PGlite
  readonly #schema: string

  constructor(database: PGlite, schema: string) {
    this.#database = database
    this.#schema = schema
  }

  transact<T>(steps: () => Steps<T>): Promise<T> {
    return this.#within('', transaction => run(transaction, steps()))
  }

  read<T>(steps: () => Steps<T>): Promise<T> {
    return this.#within('isolation level repeatable read', transaction => run(transaction, steps()))
  }

  async readOnly({ sql, parameters }: CompiledQuery, check?: CheckTables): Promise<readonly unknown[]> {
    try {
      const read = async (transaction: Transaction) => {
        const explained = check && (await transaction.query(`explain (format json) ${sql}`, [...parameters]))
        if (check) await run(transaction, check(tablesIn(explained?.rows)))
        return (await transaction.query(sql, [...parameters])).rows
      }
      return await this.#within('read only', read)
    } catch (cause) {
      if (!isCode(cause, '25006')) throw cause
      throw new AverbaError('INVALID_INPUT', 'Cannot run this statement: views can only be read', { cause })
    }
  }

  #within<T>(mode: string, work: (transaction: Transaction) => Promise<T>): Promise<T> {
    return this.#database.transaction(async transaction => {
      if (mode !== '') await transaction.exec(`set transaction ${mode}`)
      await transaction.exec(`set local search_path to ${this.#schema}`)
      return work(transaction)
    })
  }

  async emptyJournal(): Promise<boolean> {
    return true
  }

  /** PostgreSQL keeps deleted rows until a vacuum, like SQLite. */
  async rewrite(): Promise<void> {
    await this.#database.exec('vacuum full')
  }

  async searchFile() {
    return { bytes: 0, found: 0 }
  }

  async close(): Promise<void> {}
}

/** Finds the tables that a query plan reads. */
function tablesIn(plan: unknown): string[] {
  if (typeof plan !== 'object' || plan === null) return []
  return Object.entries(plan).flatMap(([name, value]) => (name === 'Relation Name' ? [String(value)] : tablesIn(value)))
}

/** Runs steps and awaits each statement. */
async function run<T>(transaction: Transaction, work: Steps<T>): Promise<T> {
  let step = work.next()
  while (!step.done) step = work.next(await answer(transaction, step.value))
  return step.value
}

async function answer(transaction: Transaction, request: DatabaseRequest): Promise<readonly unknown[]> {
  if ('attempt' in request) return attempt(transaction, request.attempt)
  if ('together' in request) {
    const answers: (readonly unknown[])[] = []
    for (const statement of request.together) answers.push(await answer(transaction, statement))
    return answers
  }
  let marks = 0
  const text = request.sql.replaceAll('?', () => `$${++marks}`)
  if (!('forEach' in request)) {
    const { rows } = await transaction.query<object>(text, [...request.parameters])
    return rows
  }
  for (const parameters of request.forEach) await transaction.query(text, [...parameters])
  return []
}

async function attempt(transaction: Transaction, steps: () => Steps<void>): Promise<readonly unknown[]> {
  await transaction.exec('savepoint attempt')
  try {
    await run(transaction, steps())
    await transaction.exec('release savepoint attempt')
    return []
  } catch (error) {
    await transaction.exec('rollback to savepoint attempt; release savepoint attempt')
    return [error]
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
