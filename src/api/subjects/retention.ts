import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { isOpen } from '../../machines/consent/status.ts'
import { runSequentially, yieldToEventLoop } from '../../runtime/event-loop.ts'
import { lazyList } from '../../runtime/lazy-list.ts'
import { hasPendingHandler } from '../../store/ledger/follower-table.ts'
import { type AgedPage, type AgedPart, partPlaceKey } from '../../store/parts/parts.ts'
import { readHandlings } from '../../views/notifications.ts'
import { parseIso } from '../../vocabulary/brasilia.ts'
import { hasCode } from '../../vocabulary/errors.ts'
import { dayMs, fromInstant, isWithin, toInstant } from '../../vocabulary/instant.ts'
import { type Instant, openStates, type PendingEffect } from '../../vocabulary/message.ts'
import { effectStream, isStreamOf, portalStream, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import { type PartKind, partKinds } from '../../vocabulary/part-kinds.ts'
import { type ApiContext, effectPages, expectUnchanged, readEvents } from '../api-context.ts'
import { checkId } from '../arguments.ts'
import { isEffect } from '../effect-types.ts'
import { copyWindowMs } from '../notifications/notification.ts'
import type { RetentionRule } from '../options.ts'
import { checkSelector, type SubjectRef, type SubjectSelector } from '../subject-directory.ts'

/** After how long a failed run is repeated, unless the failure is temporary. */
const retryMs = 3_600_000
/** The portal keeps failure records for thirty days; one more, for its clock. */
const recordsKeptMs = 31 * dayMs
const endOfTime: Instant = '9999-12-31T23:59:59.999Z'

/** Logs when rules are set but this process does not apply them. The host may think it does. */
export function logIdleRetention({ options, log }: ApiContext): void {
  const { retention = {}, schedules = true } = options
  if (schedules || Object.keys(retention).length === 0) return
  log({
    level: 'warn',
    message: 'retention is set but schedules are off: this process does not apply the rules',
    detail: 'remove schedules: false here or in another process on this log',
  })
}

/**
 * Destroys sealed parts whose time is over, once a day, in the transaction of an event that names them. Parts stay that
 * a pending call opens, a handler has not handled, or a hold covers.
 */
export function createRetention(context: ApiContext) {
  const { clock, engine, options, rows, store } = context
  let appliedAt = Number.NEGATIVE_INFINITY
  /** Destroyed bytes, also of an earlier process, may be in the journal, or in the file until it is written back. */
  let isJournalFull = Object.keys(options.retention ?? {}).length > 0

  /** Applies the rules that are due. A rule that fails does not stop the others. */
  async function runDue(): Promise<void> {
    await runSequentially(applyRulesDaily, async () => {
      // Now, instead of after the next thousand writes or once no reader uses it.
      if (isJournalFull) isJournalFull = !(await store.database.emptyJournal())
    })
  }

  async function applyRulesDaily(): Promise<void> {
    const rules = Object.entries(options.retention ?? {}) as [PartKind, RetentionRule][] // Checked by checkOptions.
    if (rules.length === 0 || isWithin(dayMs, appliedAt, clock.now())) return
    const before = appliedAt
    appliedAt = clock.now()
    try {
      const works = rules.map(rule => () => applyRule(...rule))
      await runSequentially(...works)
    } catch (error) {
      // Due parts must not stay another day; a lasting failure is not repeated every minute either.
      const isDiskFullOrLocked = hasCode(error, 'STORE_UNSAFE', 'STORE_BUSY')
      appliedAt = isDiskFullOrLocked ? before : appliedAt + retryMs - dayMs
      throw error
    }
  }

  async function applyRule(kind: PartKind, rule: RetentionRule): Promise<void> {
    const isByTime = rule !== 'until-settled'
    const pending = await lazyList(() => effectPages(store, openStates))
    const before = isByTime ? toInstant(clock.now() - rule.days * dayMs) : await settledBefore(kind, pending)
    const isOpenedByCall = findOpenedParts(pending)
    const open = new Set(pending.map(effectStream))
    for (let last: AgedPage['next'] = { position: 0, name: '' }; last; ) {
      const page: AgedPage = await store.owners.agedParts(partKinds[kind], before, last)
      const unopened = page.parts.filter(part => !isOpenedByCall(part))
      const due: AgedPart[] = []
      for (const part of unopened) {
        const isOfOpenCall = !isByTime && open.has(part.stream)
        if (!isOfOpenCall && (await isSettled(part, isByTime))) due.push(part)
      }
      const named = { kind, rule: isByTime ? `${rule.days} days` : rule }
      if (due.length > 0) {
        await engine.record(() => requestDestruction(due, named, part => isSettled(part, isByTime)))
        isJournalFull = true
      }
      last = page.next
      await yieldToEventLoop()
    }
  }

  /** Parts from before may be destroyed: copies and failure records that still arrive are recognised by content. */
  async function settledBefore(kind: PartKind, pending: readonly PendingEffect[]): Promise<Instant> {
    if (kind !== 'notification.body') return endOfTime
    const now = clock.now()
    const copied = now - copyWindowMs
    const read = await failuresReadBefore(pending)
    return toInstant(read === undefined ? copied : Math.min(copied, Math.max(read, now - recordsKeptMs)))
  }

  /** Up to which day (in Brasília) the failure records were read; `undefined` when they are not read daily. */
  async function failuresReadBefore(pending: readonly PendingEffect[]): Promise<number | undefined> {
    const last = await store.readLast({ stream: portalStream, types: ['portal.recoveryRequested'] })
    if (!last) return undefined
    const { day } = last.data
    // The day of a damaged one is unknown, so it may be any day for which the portal keeps records.
    if (pending.some(each => each.type === 'portal.listFailures' && each.isDamaged)) return Number.NEGATIVE_INFINITY
    const readings = pending.filter(each => isEffect(each, 'portal.listFailures'))
    // The next daily reading reads the days again that the portal declined.
    const declining = { stream: portalStream, types: ['portal.readDeclined'], after: last.position } as const
    const declined = await Array.fromAsync(readEvents(store, declining), ({ data }) => data.day ?? [])
    // The day of a reading was not over when it was requested.
    const [first = day] = [day, ...readings.flatMap(({ data }) => data.day ?? []), ...declined.flat()].sort()
    return fromInstant(parseIso(`${first}T00:00:00`) ?? '')
  }

  /**
   * Requests to destroy the parts of owners without a hold. A hold, or the replay of a notification, that is recorded
   * meanwhile makes the append fail.
   */
  async function requestDestruction(
    aged: readonly AgedPart[],
    named: { kind: string; rule: string },
    isStillDue: (part: AgedPart) => Promise<boolean>,
  ): Promise<DecisionRequest> {
    const owners = [...new Set(aged.map(part => part.owner))].filter(owner => isStreamOf('subject', owner))
    const notified = [...new Set(aged.map(part => part.stream))].filter(stream => isStreamOf('notification', stream))
    const preconditions = await Promise.all([...owners, ...notified].map(stream => expectUnchanged(store, stream)))
    const due: AgedPart[] = []
    for (const part of aged) if (!isStreamOf('notification', part.stream) || (await isStillDue(part))) due.push(part)
    const held = new Set<string>()
    for (const owner of owners) if (await isHeld(owner)) held.add(owner)
    const free = await store.owners.existingParts(due.filter(({ owner }) => !held.has(owner)))
    if (free.length === 0) return { targets: [] }
    const data = { ...named, parts: free.map(partPlaceKey) }
    const message = { type: 'retention.apply', data }
    return {
      targets: [{ stream: streamOf('retention', named.kind), message }],
      preconditions: preconditions.filter(({ stream }) => !held.has(stream)),
      destroys: { parts: free },
    }
  }

  /** Whether nothing waits for the part any longer. By age alone, only an unfinished handler still does. */
  async function isSettled({ stream, position, name }: AgedPart, isByTime: boolean): Promise<boolean> {
    if (isStreamOf('notification', stream)) {
      const row = await rows.find('notifications', stream)
      if (!row) return false
      const isUntried = isByTime && readHandlings(row).length === 0
      if (row.state !== 'handled' && !isUntried) return false
      // A handler may not have passed the position yet, in any process, running or not.
      return !hasPendingHandler(await store.followers.list(), row.evento, position)
    }
    // The answer to a validation in doubt may be the only record of whether it was paid.
    if (isByTime && name !== 'unreadable') return true
    if (isStreamOf('validation', stream)) {
      const row = await rows.find('validations', stream)
      return row?.state === 'answered' || row?.state === 'declined' || row?.state === 'resolved'
    }
    // A failure record's stream: what can be recovered is read again.
    if (!isStreamOf('consent', stream)) return true
    const row = await rows.find('consents', stream)
    return row !== undefined && (row.knowledge === 'vanished' || !isOpen(row.status))
  }

  async function isHeld(owner: string): Promise<boolean> {
    const types = ['subject.held', 'subject.released'] as const
    const holds = new Set<string>()
    for await (const { type, data } of readEvents(store, { stream: owner, types })) {
      if (type === 'subject.held') holds.add(data.reason)
      else holds.delete(data.reason)
    }
    return holds.size > 0
  }

  return { runDue }
}

/** The parts that a pending call may still open; a damaged one may open any of its stream and that stream's owner. */
function findOpenedParts(pending: readonly PendingEffect[]): (part: AgedPart) => boolean {
  const opened = new Set(pending.flatMap(effect => Object.values(effect.opens ?? {})))
  const damaged = new Set(pending.filter(effect => effect.isDamaged).map(({ stream }) => stream))
  return ({ stream, owner, version, name }) =>
    damaged.has(stream) || damaged.has(owner) || opened.has(`${stream}/${version}/${name}`)
}

/** Holds, which suspend retention. */
export interface Holds {
  /**
   * Keeps the data of a data subject beyond `retention`, for a reason such as the number of a lawsuit, until every
   * reason is released. A requested erasure still destroys the data; what its `keep` names can be held by the ref.
   *
   * @throws {AverbaError} `NOT_FOUND`, `SUBJECT_ERASED`, `INVALID_INPUT`, `PERSONAL_ID`
   */
  hold(selector: SubjectSelector, reason: string, commandOptions?: CommandOptions): Promise<void>
  /** Ends the hold for this reason only. Throws as `hold` does, and `NOT_FOUND` for an unknown reason. */
  release(selector: SubjectSelector, reason: string, commandOptions?: CommandOptions): Promise<void>
}

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
