import { each, first, type Steps } from '../database/connection.ts'
import type { Receipt } from './append.ts'

/** Finds the stored receipt of a command. */
export function findReceipt(commandId: string): Steps<Receipt | undefined> {
  return first({ sql: selectReceipt, parameters: [commandId] })
}

/** Writes receipts of commands that have none yet. */
export function writeReceipts(receipts: readonly Receipt[]): Steps<void> {
  return each(insertReceipt, receipts, ({ commandId, digest, code, detail, effect, position, stream }) => {
    return [commandId, digest, code, detail, effect, position, stream]
  })
}

const insertReceipt = `insert into receipt (command_id, digest, code, detail, effect, position, stream)
  values (?, ?, ?, ?, ?, ?, ?)`
const selectReceipt = `select command_id as "commandId", digest, code, detail, effect, position, stream
  from receipt where command_id = ?`
