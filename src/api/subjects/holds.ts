import { streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkId } from '../arguments.ts'
import { checkSelector, type SubjectRef, type SubjectSelector } from '../subject-directory.ts'

/** Holds, which suspend retention. */
export interface Holds {
  /**
   * Keeps the data of a data subject beyond `retention`, for a reason such as the number of a lawsuit, until every
   * reason is released. A requested erasure still destroys the data; what its `keep` names can be held too, by the
   * subject's ref.
   *
   * @throws {AverbaError} `NOT_FOUND`, `SUBJECT_ERASED`, `INVALID_INPUT`, `PERSONAL_ID`
   */
  hold(selector: SubjectSelector, reason: string, commandOptions?: CommandOptions): Promise<void>
  /** Ends the hold for this reason only. Throws as `hold` does, and `NOT_FOUND` for an unknown reason. */
  release(selector: SubjectSelector, reason: string, commandOptions?: CommandOptions): Promise<void>
}

/** Creates the holds of the `subjects` area. */
export function createHolds({ commands, subjects }: ApiContext): Holds {
  /** An erased subject may have kept parts; the machine refuses one without any. */
  async function findHoldable(selector: SubjectSelector): Promise<SubjectRef> {
    checkSelector(selector)
    const isErased = 'subject' in selector && (await subjects.isErased(streamOf('subject', selector.subject)))
    return isErased ? selector.subject : subjects.find(selector)
  }

  async function recordHold(
    verb: 'hold' | 'release',
    selector: SubjectSelector,
    reason: string,
    commandOptions: CommandOptions = {},
  ): Promise<void> {
    checkId(reason, 'reason')
    const subject = await findHoldable(selector)
    const message = { type: `subject.${verb}`, data: { reason } }
    await commands.record(
      { method: `subjects.${verb}`, subject, reason },
      async () => ({ targets: [{ stream: streamOf('subject', subject), message }] }),
      commandOptions,
    )
  }

  return {
    hold: (selector, reason, commandOptions) => recordHold('hold', selector, reason, commandOptions),
    release: (selector, reason, commandOptions) => recordHold('release', selector, reason, commandOptions),
  }
}
