import type { Receipt } from '../../store/writing/append.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import { refusal } from './recorder.ts'

/** What became of a command: recorded, now or before. `effect` is empty when it owed none. */
export interface CommandResult {
  readonly position: number
  readonly effect: string
  readonly replayed: boolean
  readonly events: readonly RecordedEvent[]
  /** Its data subject was erased since: the answer is an error that tells what became of its call. */
  readonly isOfErased?: boolean
}

/**
 * The answer to a command that was recorded before, asked again under its id.
 *
 * @throws {AverbaError} `COMMAND_REUSED` with another input, `SUBJECT_ERASED` once its digest went with a person and it
 * owed no call, and the refusal where it was refused
 */
export function replayed(receipt: Receipt, digest: Uint8Array): CommandResult {
  const { commandId, position, effect } = receipt
  const known = { position, effect, replayed: true, events: [] }
  if (receipt.digest.length === 0) {
    // Its input is gone and cannot be compared. The answer still tells what became of its call.
    if (receipt.code === 'accepted' && effect !== '') return { ...known, isOfErased: true }
    throw ofErased(commandId)
  }
  if (!Buffer.from(digest).equals(Buffer.from(receipt.digest))) {
    throw new AverbaError(
      'COMMAND_REUSED',
      `Cannot use the command id "${commandId}" again: its input differs`,
      {
        hint: 'Give every command an id of its own, and repeat an id only with the very same input',
      },
    )
  }
  if (receipt.code === 'refused') throw refusal(receipt.detail)
  return known
}

/** The error for the id of a command whose data subject was erased; `outcome` is that of its call. */
export function ofErased(commandId: string, outcome?: 'settled' | 'declined' | 'unknown'): AverbaError {
  const became = outcome === undefined ? '' : `. ${becameOf[outcome]}`
  return new AverbaError(
    'SUBJECT_ERASED',
    `Cannot use the command id "${commandId}" again: its data subject was erased${became}`,
    {
      hint: 'What it was given is gone, and it is not done again. subjects.receipt says what became of the person',
    },
  )
}

const becameOf = {
  settled: 'Its call was made',
  declined: 'Its call did nothing',
  unknown: 'Its call was perhaps made',
}
