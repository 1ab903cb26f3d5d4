import { streamOf } from '../../vocabulary/names.ts'
import type { Ask } from '../../vocabulary/outcome.ts'
import type { Area } from '../area.ts'
import { checkId } from '../arguments.ts'
import { checkWho, type SubjectRef, type Who } from '../subject-directory.ts'

/** Holds against retention by time. */
export interface Holds {
  /**
   * Keeps what there is of a data subject beyond `retention`, for a reason such as the number of a lawsuit, until
   * `release` has ended each reason there is; one that holds already is the same. A requested erasure still goes
   * through: what the law requires to be kept is for its `keep`, and can be held in its turn, by the subject's ref.
   *
   * @throws {AverbaError} `NOT_FOUND`, `SUBJECT_ERASED`, `INVALID_INPUT`, `PERSONAL_ID`
   */
  hold(who: Who, because: string, ask?: Ask): Promise<void>
  /**
   * Ends the hold for this reason, and no other. Throws as `hold` does, `NOT_FOUND` where no such reason holds them
   * too.
   */
  release(who: Who, because: string, ask?: Ask): Promise<void>
}

/** Makes the holds of the area `subjects`. */
export function createHolds({ commands, subjects }: Area): Holds {
  /** Of whom an erasure has kept something is there; their machine refuses whoever was erased as a whole. */
  async function find(who: Who): Promise<SubjectRef> {
    checkWho(who)
    const isErased = 'subject' in who && (await subjects.isErased(streamOf('subject', who.subject)))
    return isErased ? who.subject : subjects.find(who)
  }

  async function say(verb: 'hold' | 'release', who: Who, because: string, ask: Ask = {}): Promise<void> {
    checkId(because, 'reason')
    const subject = await find(who)
    const message = { type: `subject.${verb}`, data: { because } }
    await commands.record(
      { method: `subjects.${verb}`, subject, because },
      async () => ({ targets: [{ stream: streamOf('subject', subject), message }] }),
      ask,
    )
  }

  return {
    hold: (who, because, ask) => say('hold', who, because, ask),
    release: (who, because, ask) => say('release', who, because, ask),
  }
}
