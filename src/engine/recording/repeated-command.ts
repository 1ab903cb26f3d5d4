import type { Receipt } from '../../store/writing/append.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import { refusalError } from './recorder.ts'

/** The result of a command, recorded now or before. `effect` is empty when it requested none. */
export interface CommandResult {
  readonly position: number
  readonly effect: string
  readonly replayed: boolean
  readonly events: readonly RecordedEvent[]
  /** Its data subject was erased since: the answer is an error that reports the outcome of its call. */
  readonly isOfErased?: boolean
}

/** The result of a command that was recorded now. */
export function newResult({ position, events }: Pick<CommandResult, 'position' | 'events'>): CommandResult {
  const effect = events.find(event => event.effects?.length)
  return { position, effect: effect ? `${effect.id}/0` : '', replayed: false, events }
}

/**
 * The result of a command that was recorded before under the same id.
 *
 * @throws {AverbaError} `COMMAND_REUSED` with another input, `SUBJECT_ERASED` when its digest was erased with a person
 * and it has no call, and the refusal when it was refused
 */
export function repeatResult(receipt: Receipt, digest: Uint8Array): CommandResult {
  const { commandId, position, effect } = receipt
  const known = { position, effect, replayed: true, events: [] }
  if (receipt.digest.length === 0) {
    // The input was erased and cannot be compared. The outcome of the call can still be reported.
    if (receipt.code === 'accepted' && effect !== '') return { ...known, isOfErased: true }
    throw erasedCommandError(commandId)
  }
  if (!Buffer.from(digest).equals(Buffer.from(receipt.digest))) {
    throw new AverbaError('COMMAND_REUSED', `Cannot use the command id "${commandId}" again: its input differs`, {
      hint: 'Give every command its own id, and repeat an id only with the same input',
    })
  }
  if (receipt.code === 'refused') throw refusalError(receipt.detail)
  return known
}

/** The error for the id of a command whose data subject was erased; `outcome` is that of its call. */
export function erasedCommandError(commandId: string, outcome?: 'settled' | 'declined' | 'unknown'): AverbaError {
  const outcomeText = outcome === undefined ? '' : `. ${outcomeTexts[outcome]}`
  return new AverbaError(
    'SUBJECT_ERASED',
    `Cannot use the command id "${commandId}" again: its data subject was erased${outcomeText}`,
    {
      hint: 'Its input was erased, and it is not repeated. subjects.receipt reports the erasure of the person',
    },
  )
}

const outcomeTexts = {
  settled: 'Its call was made',
  declined: 'Its call had no effect',
  unknown: 'Its call was perhaps made',
}
