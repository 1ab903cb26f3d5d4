import { streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkId } from '../arguments.ts'
import { checkWho, type SubjectRef, type SubjectSelector } from '../subject-directory.ts'

/** Holds against retention by time. */
export interface Holds {
  /**
   * Keeps what there is of a data subject beyond `retention`, for a reason such as the number of a lawsuit, until
   * `release` has ended each reason there is; one that holds already is the same. A requested erasure still goes
   * through: what the law requires to be kept is for its `keep`, and can be held in its turn, by the subject's ref.
   *
   * @throws {AverbaError} `NOT_FOUND`, `SUBJECT_ERASED`, `INVALID_INPUT`, `PERSONAL_ID`
   */
  hold(selector: SubjectSelector, reason: string, commandOptions?: CommandOptions): Promise<void>
  /**
   * Ends the hold for this reason, and no other. Throws as `hold` does, `NOT_FOUND` where no such reason holds them
   * too.
   */
  release(selector: SubjectSelector, reason: string, commandOptions?: CommandOptions): Promise<void>
}

/** Makes the holds of the area `subjects`. */
export function createHolds({ commands, subjects }: ApiContext): Holds {
  /** Of whom an erasure has kept something is there; their machine refuses whoever was erased as a whole. */
  async function find(selector: SubjectSelector): Promise<SubjectRef> {
    checkWho(selector)
    const isErased = 'subject' in selector && (await subjects.isErased(streamOf('subject', selector.subject)))
    return isErased ? selector.subject : subjects.find(selector)
  }

  async function say(
    verb: 'hold' | 'release',
    selector: SubjectSelector,
    reason: string,
    commandOptions: CommandOptions = {},
  ): Promise<void> {
    checkId(reason, 'reason')
    const subject = await find(selector)
    const message = { type: `subject.${verb}`, data: { reason } }
    await commands.record(
      { method: `subjects.${verb}`, subject, reason },
      async () => ({ targets: [{ stream: streamOf('subject', subject), message }] }),
      commandOptions,
    )
  }

  return {
    hold: (selector, reason, commandOptions) => say('hold', selector, reason, commandOptions),
    release: (selector, reason, commandOptions) => say('release', selector, reason, commandOptions),
  }
}
