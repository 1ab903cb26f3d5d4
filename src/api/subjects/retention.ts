import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { runSequentially, yieldToEventLoop } from '../../runtime/event-loop.ts'
import { hasPendingHandler } from '../../store/ledger/followers.ts'
import { logPageRows } from '../../store/log/read.ts'
import type { AgedPage, AgedPart } from '../../store/owners/aged-parts.ts'
import { partPlaceKey } from '../../store/parts/parts.ts'
import type { ExpectedStream } from '../../store/writing/append.ts'
import { readHandlings } from '../../views/notifications.ts'
import { readIso } from '../../vocabulary/brasilia.ts'
import { AverbaError, type ErrorCode } from '../../vocabulary/errors.ts'
import { dayMs, fromInstant, isWithin, toInstant } from '../../vocabulary/instant.ts'
import type { Instant, PendingEffect } from '../../vocabulary/message.ts'
import { isStreamOf, portalStream, streamOf } from '../../vocabulary/names.ts'
import { type PartKind, partKinds } from '../../vocabulary/part-kinds.ts'
import type { ApiContext } from '../api-context.ts'
import { copyWindowMs } from '../notifications/notification.ts'
import type { RetentionRule } from '../options.ts'

/** How long after a look that failed the next one is, unless a disk was full or held. */
const againMs = 3_600_000
const passing: ReadonlySet<ErrorCode> = new Set(['STORE_UNSAFE', 'STORE_BUSY'])
/** The portal keeps failure records for thirty days; one more, for its clock. */
const recordsKeptMs = 31 * dayMs
/** The end of time, for rules that do not depend on age. */
const ever: Instant = '9999-12-31T23:59:59.999Z'

/** Tells the logger where rules are set that this process does not carry out: the host may think it does. */
export function tellOfIdleRetention({ options, log }: ApiContext): void {
  const { retention = {}, schedules = true } = options
  if (schedules || Object.keys(retention).length === 0) return
  log({
    message: 'retention is set and schedules are off: this process destroys nothing by its rules',
    detail: 'leave out schedules: false, or let another process on this log run without it',
  })
}

/**
 * Destroys sealed parts whose time is over, once a day: in the transaction of an event that names each of them. What an
 * owed call opens, a handler has not handled, or a hold covers, stays.
 */
export class Retention {
  readonly #context: ApiContext
  #lookedAt = Number.NEGATIVE_INFINITY
  /** The journal still has what was destroyed, or the file has it until the journal is written back. */
  #isJournalFull: boolean

  constructor(context: ApiContext) {
    this.#context = context
    // An earlier process may have ended before its journal was emptied.
    this.#isJournalFull = Object.keys(context.options.retention ?? {}).length > 0
  }

  /** Does what is due. A rule that cannot be carried out holds up no other. */
  async look(): Promise<void> {
    await runSequentially(
      () => this.#lookDaily(),
      () => this.#emptyJournal(),
    )
  }

  /** No byte of what was destroyed is left to the next thousand writes, nor to a reader who happens to be there. */
  async #emptyJournal(): Promise<void> {
    if (this.#isJournalFull) this.#isJournalFull = !(await this.#context.store.owners.emptyJournal())
  }

  async #lookDaily(): Promise<void> {
    const { clock, options } = this.#context
    const rules = Object.entries(options.retention ?? {}) as [PartKind, RetentionRule][] // As checkOptions has seen.
    if (rules.length === 0 || isWithin(dayMs, this.#lookedAt, clock.now())) return
    const before = this.#lookedAt
    this.#lookedAt = clock.now()
    try {
      const works = rules.map(rule => () => this.#apply(...rule))
      await runSequentially(...works)
    } catch (error) {
      // What is over is not kept for another day; what fails by itself is not tried every minute either.
      const isPassing = error instanceof AverbaError && passing.has(error.code)
      this.#lookedAt = isPassing ? before : this.#lookedAt + againMs - dayMs
      throw error
    }
  }

  async #apply(kind: PartKind, rule: RetentionRule): Promise<void> {
    const { clock, engine, store } = this.#context
    const isByTime = rule !== 'until-settled'
    const owed = await this.#owed()
    const before = isByTime
      ? toInstant(clock.now() - rule.days * dayMs)
      : await this.#settledBefore(kind, owed)
    const isToBeOpened = openedBy(owed)
    for (let last: AgedPage['next'] = { position: 0, name: '' }; last; ) {
      const page: AgedPage = await store.owners.agedParts(partKinds[kind], before, last)
      const notOpened = page.parts.filter(part => !isToBeOpened(part))
      const over: AgedPart[] = []
      for (const part of notOpened) if (await this.#isSettled(part, isByTime)) over.push(part)
      const named = { kind, rule: isByTime ? `${rule.days} days` : rule }
      if (over.length > 0) {
        await engine.record(() => this.#destroying(over, named))
        this.#isJournalFull = true
      }
      last = page.next
      await yieldToEventLoop()
    }
  }

  /**
   * A copy of a notification may still come, and so may a failure record of its delivery: both are recognised only
   * while the content of the first is known.
   */
  async #settledBefore(kind: PartKind, pending: readonly PendingEffect[]): Promise<Instant> {
    if (kind !== 'notification.body') return ever
    const now = this.#context.clock.now()
    const copied = now - copyWindowMs
    const read = await this.#failuresReadBefore(pending)
    return toInstant(read === undefined ? copied : Math.min(copied, Math.max(read, now - recordsKeptMs)))
  }

  /** Up to which day in Brasilia the failure records were read; `undefined` where nobody reads them daily. */
  async #failuresReadBefore(pending: readonly PendingEffect[]): Promise<number | undefined> {
    const last = await this.#context.store.readLast({
      stream: portalStream,
      types: ['portal.recoveryRequested'],
    })
    if (!last) return undefined
    const { day } = last.data as { day: string } // As the portal's machine writes it.
    const readings = pending.filter(each => each.type === 'portal.listFailures')
    // Of which day it is cannot be told: as late as the portal keeps records.
    if (readings.some(each => each.isDamaged)) return Number.NEGATIVE_INFINITY
    const open = readings.map(each => each.data as { day?: string | null }) // So too.
    const declined = await this.#declinedSince(last.position)
    // The day of a reading was not over yet when it was asked for.
    const [first = day] = [day, ...open.flatMap(each => each.day ?? []), ...declined].sort()
    return fromInstant(readIso(`${first}T00:00:00`) ?? '')
  }

  /** The days that the portal declined to show since the daily reading was asked for: the next one asks again. */
  async #declinedSince(position: number): Promise<string[]> {
    const days: string[] = []
    for (let after = position; ; ) {
      const page = await this.#context.store.read({
        stream: portalStream,
        types: ['portal.readDeclined'],
        after,
      })
      days.push(...page.flatMap(({ data }) => (data as { day?: string }).day ?? [])) // As the machine writes it.
      const end = page.at(-1)
      if (!end) return days
      after = end.position
    }
  }

  /** Every person who is read by schedule owes a call: there may be very many. */
  async #owed(): Promise<readonly PendingEffect[]> {
    const states = ['owed', 'started', 'deferred', 'unknown', 'parked'] as const
    const pending: PendingEffect[] = []
    for (;;) {
      const after = pending.at(-1)
      const page = await this.#context.store.effects({
        ...{ states, withDamaged: true, limit: logPageRows },
        ...(after && { after }),
      })
      pending.push(...page)
      if (page.length < logPageRows) return pending
      await yieldToEventLoop()
    }
  }

  /**
   * Decided per owner whom nothing holds, by all that is on their streams; an owner who is held meanwhile is looked at
   * again.
   */
  async #destroying(
    over: readonly AgedPart[],
    named: { kind: string; rule: string },
  ): Promise<DecisionRequest> {
    const owners = [...new Set(over.map(part => part.owner))].filter(owner => isStreamOf('subject', owner))
    const preconditions = await Promise.all(owners.map(owner => this.#expected(owner)))
    const held = new Set<string>()
    for (const owner of owners) if (await this.#isHeld(owner)) held.add(owner)
    const free = await this.#context.store.owners.present(over.filter(({ owner }) => !held.has(owner)))
    if (free.length === 0) return { targets: [] }
    const data = { ...named, parts: free.map(partPlaceKey) }
    const message = { type: 'retention.apply', data }
    return {
      targets: [{ stream: streamOf('retention', named.kind), message }],
      preconditions: preconditions.filter(({ stream }) => !held.has(stream)),
      destroys: { parts: free },
    }
  }

  async #expected(stream: string): Promise<ExpectedStream> {
    const last = await this.#context.store.readLast({ stream })
    return { stream, expect: last?.version ?? 'none' }
  }

  /** Whether nobody waits for it any longer; where only age counts, a handler that has not finished still does. */
  async #isSettled({ stream, position, name }: AgedPart, isByTime: boolean): Promise<boolean> {
    const { rows } = this.#context
    if (isStreamOf('notification', stream)) {
      const row = await rows.find('notifications', stream)
      if (!row) return false
      const isUntried = isByTime && readHandlings(row).length === 0
      return (row.state === 'handled' || isUntried) && !(await this.#isAwaited(row.evento, position))
    }
    // What a validation in doubt was answered may be all that says whether it was paid.
    if (isByTime && name !== 'unreadable') return true
    if (isStreamOf('validation', stream)) {
      const row = await rows.find('validations', stream)
      return row?.state === 'answered' || row?.state === 'declined' || typeof row?.resolved_at === 'string'
    }
    // The stream of a failure record: what can be recovered is read anew.
    if (!isStreamOf('consent', stream)) return true
    const row = await rows.find('consents', stream)
    return row?.knowledge === 'vanished' || (row?.status !== 'PENDENTE' && row?.status !== 'ATIVO')
  }

  /**
   * Whether some handler of the event has not passed the position yet; it may belong to another process, or to one that
   * is down.
   */
  async #isAwaited(evento: string, position: number): Promise<boolean> {
    return hasPendingHandler(await this.#context.store.followers.list(), evento, position)
  }

  async #isHeld(owner: string): Promise<boolean> {
    const types = ['subject.held', 'subject.released']
    const holds = new Set<unknown>()
    for (let after = 0; ; ) {
      const page = await this.#context.store.read({ stream: owner, types, after })
      for (const { type, data, position } of page) {
        const { reason } = data as { reason: string } // As the machine writes it.
        if (type === 'subject.held') holds.add(reason)
        else holds.delete(reason)
        after = position
      }
      if (page.length === 0) return holds.size > 0
    }
  }
}

/** Tells what calls may still open. Of a damaged one that is not known: all of its stream and of that one's owner. */
function openedBy(pending: readonly PendingEffect[]): (part: AgedPart) => boolean {
  const opened = new Set(pending.flatMap(effect => Object.values(effect.opens ?? {})))
  const damaged = new Set(pending.filter(effect => effect.isDamaged).map(({ stream }) => stream))
  return part => damaged.has(part.stream) || damaged.has(part.owner) || opened.has(addressOf(part))
}

function addressOf({ stream, version, name }: AgedPart): string {
  return `${stream}/${version}/${name}`
}
