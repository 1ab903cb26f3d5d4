import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import type { UseQuestion } from '../../machines/consent/events.ts'
import type { SubjectEvent } from '../../machines/subject/messages.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import { checkKnownNames } from '../../vocabulary/known-names.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import type { RecordedOf } from '../../vocabulary/view.ts'
import type { ApiContext } from '../api-context.ts'
import { checkAge, checkBasis } from '../arguments.ts'
import { checkCome, knownUntil } from '../as-of.ts'
import type { RecordSelector, SubjectRef } from '../subject-directory.ts'
import {
  answerAbout,
  answerFrom,
  askedAtOf,
  type ConsentHistory,
  nowAfter,
  readStory,
  type Standing,
} from './event-history.ts'
import type { ConsentReadings, FreshnessOptions } from './readings.ts'
import { type ConsentRecorded, evaluateAt } from './timeline.ts'

/** Whether consents stand, and uses of the data under them. */
export interface Standings {
  /**
   * Says whether a consent stood at an instant of the service's time, by what was known at another: both are now when
   * absent. Replayed from the log, so that the same question about what has passed always gets the same answer. With
   * `ageMaxMs` the service is read first when the last reading is older, unless there is a `knownAt`.
   *
   * @param options `knownAt` is a position of the log, or an instant: a past one counts by the log's own times, one of
   * now stands for all that is recorded. After a clock was ahead those times stay ahead, and only a position is exact.
   * @throws {AverbaError} `NOT_FOUND`; `INVALID_INPUT`, also for an `at` or a `knownAt` that has not come yet: `until`
   * says how long a consent stands that does now
   */
  standing(
    selector: RecordSelector & FreshnessOptions,
    options?: { at?: Instant; knownAt?: Instant | number },
  ): Promise<Standing>
  /**
   * Records that data is used under a consent, with purpose and legal basis. Decided and recorded in one append, so
   * that no change that we know of comes in between.
   *
   * The same command id is the same use: decided and recorded once, and told again with `replayed`. One that was let
   * through is told again only while the consent stands, which is looked at as for a new one; else that is a refusal of
   * its own. One that was refused stays so.
   *
   * @throws {ConsentNotEffectiveError} `CONSENT_NOT_EFFECTIVE` once the refusal is recorded
   * @throws {AverbaError} `INVALID_INPUT` without a basis here and in the options, `NOT_FOUND`, `COMMAND_REUSED`
   */
  use(selector: RecordSelector & FreshnessOptions, commandOptions?: CommandOptions): Promise<Standing>
}

/** Data was to be used under a consent that does not stand: the refusal is in the log. */
export class ConsentNotEffectiveError extends AverbaError {
  override readonly name = 'ConsentNotEffectiveError'
  readonly standing: Standing

  /** @param usedAt the position of the use that was let through under the same command id before */
  constructor(standing: Standing, usedAt?: number) {
    const more = [
      standing.reason === 'never-read' && unread,
      standing.replayed && 'It was decided before: another command id asks anew',
      usedAt !== undefined && `What was used before under this command id stays recorded at ${usedAt}`,
    ]
    super('CONSENT_NOT_EFFECTIVE', `Cannot use the consent: ${standing.reason}`, {
      hint: ['Do not use the data. The refusal is recorded', ...more].filter(Boolean).join('. '),
    })
    this.standing = standing
  }
}

const whichNames = ['cpf', 'subject', 'id', 'ageMaxMs'] as const

const unread =
  'Nothing was ever read of this consent: call consents.sync, and check the id with consents.list'

/** What is known after a reading, if one was needed; when the question came, and whether the reading failed. */
interface RefreshedHistory {
  readonly story: ConsentHistory
  readonly askedAt: Instant
  readonly hasFailed: boolean
}

/** Makes the part of the area `consents` that answers for them. */
export function createStandings(context: ApiContext, readings: ConsentReadings): Standings {
  const { clock, commands, store, subjects } = context

  /**
   * Reads the service unless the last reading is fresh enough. Says whether that failed: the old reading stands then.
   */
  async function refresh(
    subject: SubjectRef,
    id: string,
    ageMaxMs: number | undefined,
    { at, ...ask }: { readonly at?: Instant | undefined } & Pick<CommandOptions, 'waitMs' | 'signal'> = {},
  ): Promise<RefreshedHistory> {
    const story = await readStory(store, subject, id)
    // By the clock, as readings are dated: what was recorded by one that was ahead is later than any of them.
    const askedAt = toInstant(clock.now())
    const { readAt } = evaluateAt(story.events, askedNow(story))
    const isCovered = at !== undefined && readAt !== null && at <= readAt
    if (ageMaxMs === undefined || isCovered || context.isFresh(readAt, ageMaxMs))
      return { story, askedAt, hasFailed: false }
    if (!context.options.consentService) return { story, askedAt, hasFailed: true }
    let isRead = false
    const reading = readings.readOnce(subject, ageMaxMs).then(({ status }) => {
      isRead = status === 'settled'
    })
    await commands.wait(reading, ask)
    return { story: await readStory(store, subject, id), askedAt, hasFailed: !isRead }
  }

  /** A reading dated in the future, by a clock that was ahead: when a new one fails, its age is unknown. */
  function isOfNoKnownAge(readAt: Instant | null | undefined): boolean {
    return typeof readAt === 'string' && fromInstant(readAt) > clock.now()
  }

  /** Says whether a consent stands, by what is known after a reading: now, or at an instant that the host names. */
  function answerOf(
    { story, askedAt, hasFailed }: RefreshedHistory,
    ageMaxMs: number | undefined,
    at?: Instant,
  ): Standing {
    const now = nowAfter(story, clock)
    const options = { ageMaxMs, askedAt }
    const standing =
      at === undefined ? answerFrom(story, now, now, options) : answerAbout(story, at, now, options, clock)
    if (!standing.effective || !hasFailed || !isOfNoKnownAge(standing.readAt)) return standing
    const { until: _, ...stale } = standing
    return { ...stale, effective: false, reason: 'stale' }
  }

  function askedNow(story: ConsentHistory) {
    const now = nowAfter(story, clock)
    return { at: now, knownAt: now, ageMaxMs: null, syncedAt: askedAtOf(story.synced) }
  }

  return {
    async standing(which, options = {}) {
      checkKnownNames(which, whichNames, { noun: 'member', of: 'the consent' })
      checkKnownNames(options, ['at', 'knownAt'], { noun: 'option' })
      const { at, knownAt } = options
      const { ageMaxMs } = which
      if (at !== undefined) await checkCome(context, at, 'at')
      checkAge(ageMaxMs)
      const subject = await subjects.find(which)
      if (knownAt === undefined) {
        return answerOf(await refresh(subject, which.id, ageMaxMs, { at }), ageMaxMs, at)
      }
      const known = await knownUntil(context, knownAt)
      const story = await readStory(store, subject, which.id, { until: known.position })
      return answerAbout(story, at ?? known.at, known.at, { ageMaxMs }, clock)
    },
    async use(which, commandOptions = {}) {
      checkKnownNames(which, whichNames, { noun: 'member', of: 'the consent' })
      const basis = commandOptions.basis ?? context.options.basis
      if (!basis) {
        throw new AverbaError(
          'INVALID_INPUT',
          'Cannot use the consent: purpose and legal basis are missing',
          {
            hint: 'Give basis: { purpose, legalBasis }, here or as the option basis of openAverba',
          },
        )
      }
      checkBasis(basis)
      const { id, ageMaxMs } = which
      checkAge(ageMaxMs)
      const subject = await subjects.find(which)
      const { purpose, legalBasis } = basis
      const input = { method: 'consents.use', subject, id, ageMaxMs: ageMaxMs ?? null, purpose, legalBasis }
      const decide = async (about: CommandOptions, refreshed?: RefreshedHistory): Promise<Standing> => {
        const deliver = () => deliverUse(subject, which, refreshed)
        const { position, replayed } = await commands.record(input, deliver, { ...about, basis })
        return { ...toStanding(await store.readAt(position)), replayed }
      }
      const { commandId, ...anew } = commandOptions
      const isKnown = commandId !== undefined && (await store.receipt(commandId)) !== undefined
      const used = await decide(
        commandOptions,
        isKnown ? undefined : await refresh(subject, id, ageMaxMs, commandOptions),
      )
      if (!used.effective) throw new ConsentNotEffectiveError(used)
      if (!used.replayed) return used
      // A caller that asks again may use the data again: the consent has to stand for that, too.
      const refreshed = await refresh(subject, id, ageMaxMs, commandOptions)
      const now = answerOf(refreshed, ageMaxMs)
      // As fresh, and until when, as it is now: an expiry may have been brought forward since.
      if (now.effective) return { ...now, position: used.position, replayed: true }
      const standing = await decide(anew, refreshed)
      if (standing.effective) return standing
      throw new ConsentNotEffectiveError(standing, used.position)
    },
  }

  /** Gathered anew for every try. The machine decides on its newest version; readings only get newer. */
  async function deliverUse(
    subject: SubjectRef,
    { id, ageMaxMs }: { readonly id: string } & FreshnessOptions,
    refreshed: RefreshedHistory | undefined,
  ): Promise<DecisionRequest> {
    if (!refreshed) throw new TypeError('A use was decided before and is not known')
    const { askedAt, hasFailed } = refreshed
    const story = await readStory(store, subject, id)
    const { at } = askedNow(story)
    if (story.stream === undefined) {
      const stream = streamOf('subject', subject)
      const parts = { id: { owner: stream, value: id } }
      return { targets: [{ stream, message: { type: 'subject.refuseUse', data: { at }, parts } }] }
    }
    const { readAt } = evaluateAt(story.events, askedNow(story))
    const isUnknown = hasFailed && isOfNoKnownAge(readAt)
    const data: UseQuestion = { at, ageMaxMs: ageMaxMs ?? null, readAt: isUnknown ? null : readAt, askedAt }
    return { targets: [{ stream: story.stream, message: { type: 'consent.use', data } }] }
  }
}

/** The standing that the event of a use tells. */
function toStanding(event: RecordedEvent | undefined): Standing {
  const recorded = event as ConsentRecorded | RecordedOf<SubjectEvent> | undefined // Those that a use makes.
  switch (recorded?.type) {
    case 'consent.used': {
      const { readAt, until } = recorded.data
      const known = { ...(readAt !== null && { readAt }), ...(until !== null && { until }) }
      return { effective: true, reason: 'active', ...known, position: recorded.position }
    }
    case 'consent.useRefused': {
      const { readAt, reason } = recorded.data
      return { effective: false, reason, ...(readAt !== null && { readAt }), position: recorded.position }
    }
    case 'subject.useRefused':
      return { effective: false, reason: 'never-read', position: recorded.position }
    default:
      throw new TypeError('A use was recorded and its event is not there')
  }
}
