import { type Connection, type DatabaseRequest, type Steps, withChanges } from '../../src/store/database/connection.ts'

export interface ConnectionHooks {
  readonly transact?: <T>(steps: () => Steps<T>, run: Connection['transact']) => Promise<T>
  readonly read?: <T>(steps: () => Steps<T>, run: Connection['read']) => Promise<T>
}

export function withHooks(connection: Connection, { transact, read }: ConnectionHooks): Connection {
  return withChanges(connection, {
    ...(transact && { transact: steps => transact(steps, work => connection.transact(work)) }),
    ...(read && { read: steps => read(steps, work => connection.read(work)) }),
  })
}

/** Wraps the transactions and the reads of a connection alike. */
export function withHook(connection: Connection, hook: NonNullable<ConnectionHooks['read']>): Connection {
  return withHooks(connection, { transact: hook, read: hook })
}

/** A connection whose commits fail as long as it is told so. */
export const failing = (connection: Connection, isFailing: () => boolean) =>
  withHooks(connection, {
    transact: (steps, run) =>
      run(function* () {
        const done = yield* steps()
        if (isFailing()) throw new RangeError('the commit failed')
        return done
      }),
  })

/** A connection to SQLite that reports what its transactions and reads did. */
export const observed = (connection: Connection, onDone: (done: ObservedSteps) => void) =>
  withHook(connection, (steps, run) => run(() => observeSteps(steps, onDone)))

/** The statements of one transaction and the rows that it touched. */
export interface ObservedSteps {
  readonly statements: readonly string[]
  /** The number of rows read, changed, or dropped with their table. */
  readonly rows: number
}

/** Runs steps on SQLite and reports what they did. */
export function* observeSteps<T>(steps: () => Steps<T>, onDone: (done: ObservedSteps) => void): Steps<T> {
  const statements: string[] = []
  const ask = function* (sql: string): Steps<number> {
    const [row] = (yield { sql: `select (${sql}) as n`, parameters: [] }) as readonly { n: number }[] // The one column of the query.
    return row?.n ?? 0
  }
  const before = yield* ask('total_changes()')
  let rows = 0
  const through = function* <R>(work: Steps<R>): Steps<R> {
    let step = work.next()
    while (!step.done) {
      const request = step.value
      const sql = 'sql' in request ? request.sql : ''
      statements.push(sql)
      const [, dropped] = /^drop table (\w+)/.exec(sql) ?? []
      if (dropped !== undefined) rows += yield* ask(`select count(*) from ${dropped}`)
      // Steps in a savepoint are observed too.
      const answer = yield 'attempt' in request ? { attempt: () => through(request.attempt()) } : request
      rows += answer.length
      step = work.next(answer)
    }
    return step.value
  }
  const result = yield* through(steps())
  onDone({ statements, rows: rows + (yield* ask('total_changes()')) - before })
  return result
}

/** Runs steps with each of their requests changed, those of savepoints too. */
export function* changeRequests<T>(
  steps: () => Steps<T>,
  change: (request: Exclude<DatabaseRequest, { attempt: unknown }>) => DatabaseRequest,
): Steps<T> {
  const work = steps()
  let step = work.next()
  while (!step.done) {
    const request = step.value
    const changed = 'attempt' in request ? { attempt: () => changeRequests(request.attempt, change) } : change(request)
    step = work.next(yield changed)
  }
  return step.value
}
