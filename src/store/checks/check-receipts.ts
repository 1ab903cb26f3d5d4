import type { InferResult } from 'kysely'
import type { Faults } from '../../proof/faults.ts'
import { parseEffectId } from '../../vocabulary/names.ts'
import { first, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import { parseHeader } from '../log/header.ts'

const receiptsPerPage = 500

/** Checks that each command's receipt names the last of its events, while the log is read in order. */
export class ReceiptCheck {
  readonly #faults: Faults
  #command: string | undefined
  #position = 0

  constructor(faults: Faults) {
    this.#faults = faults
  }

  /** Adds the next event, with its command; `undefined` at the end of the log. */
  *addEvent(position: number, command: string | undefined): Steps<void> {
    const before = this.#command
    if (before !== undefined && before !== command) {
      const receipt = yield* first<{ position: number }>({ sql: selectPosition, parameters: [before] })
      if (!receipt) this.#addFault(`the command of the event at ${this.#position} has no receipt`)
      else if (receipt.position !== this.#position)
        this.#addFault(
          `the receipt of the command of the event at ${this.#position} names position ${receipt.position}`,
        )
    }
    this.#command = command
    this.#position = position
  }

  *checkPage(page: readonly ReceiptRow[]): Steps<void> {
    for (const row of page) yield* this.#check(row)
  }

  *#check({ id, position, effect, code, header, stream, streamKey }: ReceiptRow): Steps<void> {
    if (header === null) this.#addFault(`a receipt names the event at ${position}, which does not exist`)
    else if (code !== 'accepted' && code !== 'refused') this.#addFault(`a receipt at ${position} has an unknown code`)
    else if (effect !== '' && !(yield* hasEffect(effect, id, position)))
      this.#addFault(`a receipt at ${position} names an effect that its command did not request`)
    else if (stream !== '' && (streamKey === null || parseHeader(header).commandId === id))
      this.#addFault(
        `a receipt at ${position} names a stream that does not exist, or names one although its command recorded an event`,
      )
  }

  #addFault(what: string): void {
    this.#faults.add('receipts', what)
  }
}

type ReceiptRow = InferResult<ReturnType<typeof receiptsAfter>>[number]

/** A page of receipts, with the header of the event at their position, and the stream that they name, if they exist. */
export function receiptsAfter(last?: { readonly id: string }) {
  return db
    .selectFrom('receipt')
    .leftJoin('event', 'event.position', 'receipt.position')
    .leftJoin('stream', 'stream.name', 'receipt.stream')
    .select(['receipt.command_id as id', 'receipt.position', 'receipt.effect', 'receipt.code', 'receipt.stream'])
    .select(['event.header', 'stream.key as streamKey'])
    .where('receipt.command_id', '>', last?.id ?? '')
    .orderBy('receipt.command_id')
    .limit(receiptsPerPage)
}

/** Reports whether an event of the command, up to a position, has the effect. */
function* hasEffect(effect: string, command: string, until: number): Steps<boolean> {
  const [stream, version, n] = parseEffectId(effect)
  // Compared as text, so that only canonical ids match.
  if (effect !== `${stream}/${version}/${n}`) return false
  const found = yield* first<{ position: number; header: string }>({ sql: selectEvent, parameters: [stream, version] })
  if (!found || found.position > until) return false
  const { commandId, effects = [] } = parseHeader(found.header)
  return commandId === command && effects[n] !== undefined
}

const selectPosition = 'select position from receipt where command_id = ?'
const selectEvent = `select event.position, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?`
