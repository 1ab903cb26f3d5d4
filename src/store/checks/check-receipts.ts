import type { Faults } from '../../proof/faults.ts'
import { parseEffectId } from '../../vocabulary/names.ts'
import { first, rows, type Steps } from '../database/connection.ts'
import { parseHeader } from '../log/header.ts'

interface ReceiptRow {
  readonly id: string
  readonly position: number
  readonly effect: string
  readonly code: string
  /** What the command was about, where it recorded nothing. */
  readonly stream: string
  readonly isStream: number
  /** Null where there is no such event. */
  readonly header: string | null
}

const pageRows = 500

/** The receipt of each command must lead to the last of its events: checked while the log is walked in order. */
export class ReceiptCheck {
  readonly #faults: Faults
  #command: string | undefined
  #position = 0

  constructor(faults: Faults) {
    this.#faults = faults
  }

  /** Takes the next event, with the command that it came from; `undefined` at the end of the log. */
  *next(position: number, command: string | undefined): Steps<void> {
    const before = this.#command
    if (before !== undefined && before !== command) {
      const receipt = yield* first<{ position: number }>({ sql: selectPosition, parameters: [before] })
      if (!receipt) this.#add(`the command of the event at ${this.#position} has no receipt`)
      else if (receipt.position !== this.#position)
        this.#add(`the receipt of the command of the event at ${this.#position} leads to ${receipt.position}`)
    }
    this.#command = command
    this.#position = position
  }

  /** Checks the next page of receipts after an id; gives the id of the last one. */
  *page(after: string): Steps<string | undefined> {
    const page = yield* rows<ReceiptRow>({ sql: selectPage, parameters: [after, pageRows] })
    for (const row of page) yield* this.#check(row)
    return page.at(-1)?.id
  }

  *#check({ id, position, effect, code, header, stream, isStream }: ReceiptRow): Steps<void> {
    if (header === null) this.#add(`a receipt is of an event at ${position}, which is not there`)
    else if (code !== 'accepted' && code !== 'refused') this.#add(`a receipt at ${position} has another code`)
    else if (effect !== '' && !(yield* owes(effect, id, position)))
      this.#add(`a receipt at ${position} names an effect that its command does not owe`)
    else if (stream !== '' && (isStream === 0 || parseHeader(header).commandId === id))
      this.#add(`a receipt at ${position} is about a stream that is not there, or names one needlessly`)
  }

  #add(what: string): void {
    this.#faults.add('receipts', what)
  }
}

/** Reports whether an event of the command, up to a position, owes the effect. */
function* owes(effect: string, command: string, until: number): Steps<boolean> {
  const [stream, version, n] = parseEffectId(effect)
  // Compared as text, so that nothing else passes as a number.
  if (effect !== `${stream}/${version}/${n}`) return false
  const found = yield* first<{ position: number; header: string }>({
    sql: selectEvent,
    parameters: [stream, version],
  })
  if (!found || found.position > until) return false
  const { commandId, effects = [] } = parseHeader(found.header)
  return commandId === command && effects[n] !== undefined
}

const selectPosition = 'select position from receipt where command_id = ?'
const selectPage = `select command_id as id, receipt.position, effect, code, event.header, receipt.stream,
  case when exists (select 1 from stream where name = receipt.stream) then 1 else 0 end as "isStream" from receipt
  left join event on event.position = receipt.position where command_id > ? order by command_id limit ?`
const selectEvent = `select event.position, event.header from event join stream on stream.key = event.stream
  where stream.name = ? and event.version = ?`
