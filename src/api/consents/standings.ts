import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import type { UseQuestion } from '../../machines/consent/events.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { checkKnownNames, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkAge, checkBasis } from '../arguments.ts'
import { checkNotFuture, resolveKnownAt } from '../as-of.ts'
import type { Recorded } from '../events.ts'
import type { RecordSelector, SubjectRef } from '../subject-directory.ts'
import {
  type ConsentHistory,
  controllerIn,
  nowAfter,
  readAtOf,
  readConsentHistory,
  type Standing,
  standingAt,
  standingFrom,
} from './consent-events.ts'
import { ConsentNotEffectiveError } from './not-effective-error.ts'
import type { ConsentReadings, FreshnessOptions } from './readings.ts'

/** Whether consents are effective, and uses of data under them. */
export interface Standings {
  /**
   * Says whether a consent was effective at instant `at`, by what was known at `knownAt`; both default to now. It
   * replays the log, so a question about the past always gets the same answer. With `ageMaxMs` and no `knownAt`, the
   * service is read first when the last reading is older.
   *
   * @param options `knownAt` is a position of the log, or an instant of the log's own times. These stay ahead after a
   * clock ran ahead; then only a position is exact. An instant close to now means everything recorded.
   * @throws {AverbaError} `NOT_FOUND`; `INVALID_INPUT`, also for an `at` or `knownAt` in the future: see `until`
   * instead
   */
  standing(
    selector: RecordSelector & FreshnessOptions,
    options?: { at?: Instant; knownAt?: Instant | number },
  ): Promise<Standing>
  /**
   * Records that data is used under a consent, with purpose and legal basis: decision and record are one append.
   *
   * A repeated command id is the same use, returned with `replayed`. An allowed use is returned again only while the
   * consent is effective; otherwise a new refusal is recorded. A refused use stays refused.
   *
   * @throws {ConsentNotEffectiveError} `CONSENT_NOT_EFFECTIVE` once the refusal is recorded
   * @throws {AverbaError} `INVALID_INPUT` without a basis here and in the options, `NOT_FOUND`, `COMMAND_REUSED`
   */
  use(selector: RecordSelector & FreshnessOptions, commandOptions?: CommandOptions): Promise<Standing>
}

interface RefreshedHistory {
  readonly history: ConsentHistory
  readonly askedAt: Instant
  readonly hasFailed: boolean
}

/** Creates the part of the `consents` area that says whether consents are effective. */
export function createStandings(context: ApiContext, readings: ConsentReadings): Standings {
  const { clock, commands, store, subjects } = context

  /** Reads the service unless the last reading is fresh enough; on failure, the old reading counts. */
  async function refresh(
    subject: SubjectRef,
    id: string,
    ageMaxMs: number | undefined,
    { at, ...ask }: { readonly at?: Instant | undefined } & Pick<CommandOptions, 'waitMs' | 'signal'> = {},
  ): Promise<RefreshedHistory> {
    const lookedSince = readings.beginLook()
    const history = await readConsentHistory(store, subject, id)
    // By the clock, which also dates readings. The log's own times may be ahead of it.
    const askedAt = toInstant(clock.now())
    const readAt = readAtOf(history)
    const isCovered = at !== undefined && readAt !== null && at <= readAt
    if (ageMaxMs === undefined || isCovered || context.isFresh(readAt, ageMaxMs))
      return { history, askedAt, hasFailed: false }
    if (!context.options.consentService) return { history, askedAt, hasFailed: true }
    let isRead = false
    const reading = readings
      .readOnce(subject, ageMaxMs, controllerIn(history.events) ?? undefined, lookedSince)
      .then(({ status }) => {
        isRead = status === 'settled'
      })
    await commands.wait(() => reading, ask)
    const known = await readConsentHistory(store, subject, id)
    // A list that was read may not cover this consent.
    return { history: known, askedAt, hasFailed: !isRead || lastShownAt(known) === lastShownAt(history) }
  }

  /** Whether a clock that was ahead dated the reading in the future. Its age is then unknown. */
  function isDatedAhead(readAt: Instant | null | undefined): boolean {
    return typeof readAt === 'string' && fromInstant(readAt) > clock.now()
  }

  /** Says whether a consent is effective, by what is known after a reading: now, or at an instant from the host. */
  function currentStanding(
    { history, askedAt, hasFailed }: RefreshedHistory,
    ageMaxMs: number | undefined,
    at?: Instant,
  ): Standing {
    const now = nowAfter(history, clock)
    const options = { ageMaxMs, askedAt }
    const standing =
      at === undefined ? standingFrom(history, now, now, options) : standingAt(history, at, now, options, clock)
    if (!standing.effective || !hasFailed || !isDatedAhead(standing.readAt)) return standing
    const { until: _, ...stale } = standing
    return { ...stale, effective: false, reason: 'stale' }
  }

  return {
    async standing(selector, options = {}) {
      checkKnownNames(options, ['at', 'knownAt'], { noun: 'option' })
      const { at, knownAt } = options
      const { ageMaxMs } = selector
      if (at !== undefined) await checkNotFuture(context, at, 'at')
      checkAge(ageMaxMs)
      const subject = await subjects.find(selector, 'id', 'ageMaxMs')
      if (knownAt === undefined)
        return currentStanding(await refresh(subject, selector.id, ageMaxMs, { at }), ageMaxMs, at)
      const known = await resolveKnownAt(context, knownAt)
      const history = await readConsentHistory(store, subject, selector.id, { until: known.position })
      return standingAt(history, at ?? known.at, known.at, { ageMaxMs }, clock)
    },
    async use(selector, commandOptions = {}) {
      const basis = commandOptions.basis ?? context.options.basis
      if (!basis) {
        const message = 'Cannot use the consent: purpose and legal basis are missing'
        const hint = 'Give basis: { purpose, legalBasis } here or in the options of openAverba'
        throw new AverbaError('INVALID_INPUT', message, { hint })
      }
      checkBasis(basis)
      const { id, ageMaxMs } = selector
      checkAge(ageMaxMs)
      const subject = await subjects.find(selector, 'id', 'ageMaxMs')
      const { purpose, legalBasis } = basis
      const input = { method: 'consents.use', subject, id, ageMaxMs: ageMaxMs ?? null, purpose, legalBasis }
      const recordUse = async (options: CommandOptions, refreshed?: RefreshedHistory): Promise<Standing> => {
        const createRequest = () => createUseRequest(subject, selector, refreshed)
        const { position, replayed } = await commands.record(input, createRequest, { ...options, basis })
        return { ...standingOfUse(await store.readAt(position)), replayed }
      }
      const { commandId, ...withoutId } = commandOptions
      const isKnown = commandId !== undefined && (await store.receipt(commandId)) !== undefined
      const used = await recordUse(
        commandOptions,
        isKnown ? undefined : await refresh(subject, id, ageMaxMs, commandOptions),
      )
      if (!used.effective) throw new ConsentNotEffectiveError(used)
      if (!used.replayed) return used
      // The caller may use the data again, so the consent has to be effective now.
      const refreshed = await refresh(subject, id, ageMaxMs, commandOptions)
      const now = currentStanding(refreshed, ageMaxMs)
      // Freshness and end are those of now: the expiry may have moved.
      if (now.effective) return { ...now, position: used.position, replayed: true }
      const standing = await recordUse(withoutId, refreshed)
      if (standing.effective) return standing
      throw new ConsentNotEffectiveError(standing, used.position)
    },
  }

  /** Gathered again for every try, so that the machine decides on its newest version. */
  async function createUseRequest(
    subject: SubjectRef,
    { id, ageMaxMs }: { readonly id: string } & FreshnessOptions,
    refreshed: RefreshedHistory | undefined,
  ): Promise<DecisionRequest> {
    if (!refreshed) throw new TypeError('A use was replayed and its command id is unknown')
    const { askedAt, hasFailed } = refreshed
    const history = await readConsentHistory(store, subject, id)
    const at = nowAfter(history, clock)
    if (history.stream === undefined) {
      const stream = streamOf('subject', subject)
      const parts = { id: { owner: stream, value: id } }
      return { targets: [{ stream, message: { type: 'subject.refuseUse', data: { at }, parts } }] }
    }
    const readAt = readAtOf(history)
    const isUnknown = hasFailed && isDatedAhead(readAt)
    const data: UseQuestion = { at, ageMaxMs: ageMaxMs ?? null, readAt: isUnknown ? null : readAt, askedAt }
    return { targets: [{ stream: history.stream, message: { type: 'consent.use', data } }] }
  }
}

function lastShownAt({ events, synced }: ConsentHistory): number {
  return Math.max(events.at(-1)?.position ?? 0, synced?.position ?? 0)
}

function standingOfUse(recorded: Recorded | undefined): Standing {
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
      throw new TypeError('A use was recorded and its event is missing')
  }
}
