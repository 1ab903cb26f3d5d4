import type { Connection } from './connection.ts'

/**
 * Measures each committed write transaction from its first statement, so that waiting for another process's lock does
 * not count. Also reports the errors of failed ones.
 */
export function timeTransactions(
  connection: Connection,
  elapsedMs: () => number,
  onCommitted: (ms: number) => void,
  onFailed: (error: unknown) => void = () => undefined,
): Connection {
  return {
    dialect: connection.dialect,
    compiler: connection.compiler,
    listTables: connection.listTables,
    foreignWrites: connection.foreignWrites,
    async transact(steps) {
      let began = 0
      try {
        const result = await connection.transact(() => {
          began = elapsedMs()
          return steps()
        })
        onCommitted(elapsedMs() - began)
        return result
      } catch (error) {
        onFailed(error)
        throw error
      }
    },
    read: steps => connection.read(steps),
    readOnly: (query, check) => connection.readOnly(query, check),
    emptyJournal: () => connection.emptyJournal(),
    rewrite: () => connection.rewrite(),
    searchFile: pieces => connection.searchFile(pieces),
    close: () => connection.close(),
  }
}
