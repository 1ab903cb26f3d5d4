import { AverbaError } from '../../vocabulary/errors.ts'
import type { Standing } from './consent-events.ts'

const neverReadHint = 'This consent was never read: call consents.sync, and check the id with consents.list'

/** The consent is not effective, so its data must not be used. The refusal is in the log. */
export class ConsentNotEffectiveError extends AverbaError {
  override readonly name = 'ConsentNotEffectiveError'
  readonly standing: Standing

  /** @param usedAt the position of the use allowed before under the same command id */
  constructor(standing: Standing, usedAt?: number) {
    const more = [
      standing.reason === 'never-read' && neverReadHint,
      standing.replayed && 'It was decided before: use another command id for a new decision',
      usedAt !== undefined && `The earlier use under this command id stays recorded at ${usedAt}`,
    ]
    super('CONSENT_NOT_EFFECTIVE', `Cannot use the consent: ${standing.reason}`, {
      hint: ['Do not use the data. The refusal is recorded', ...more].filter(Boolean).join('. '),
    })
    this.standing = standing
  }
}
