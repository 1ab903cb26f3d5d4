import { useCertificate } from '../adapters/credentials/certificate.ts'
import { valueFrom } from '../adapters/credentials/source.ts'
import type { Area } from '../api/area.ts'
import { planSync } from '../api/consents/sync-plan.ts'
import { certificatesIn, type UsedCertificate } from '../api/health/certificate-checks.ts'
import { Retention } from '../api/subjects/retention.ts'
import { daysBetween, waitingDays } from '../api/subscriptions/failures/failures.ts'
import { addressedTo } from '../api/subscriptions/portal-address.ts'
import { fractionOf } from '../runtime/entropy.ts'
import { giveWay, inTurn } from '../runtime/event-loop.ts'
import { unlessStopped } from '../store/views/view-reader.ts'
import { brasiliaDay, readIso } from '../vocabulary/brasilia.ts'
import { nameOf } from '../vocabulary/error-words.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { fromInstant, isWithin, toInstant } from '../vocabulary/instant.ts'
import type { Instant } from '../vocabulary/message.ts'
import { portalStream } from '../vocabulary/names.ts'

const dayMs = 86_400_000
/** After the portal's nightly stop, and not in the same minute in every process. */
const harvestAt = '03:30:00'
const harvestSpreadMs = 3_600_000
/** How many expired consents are looked up at once. */
const lapsesPage = 200

/**
 * What is done because time has passed. When it is due is not kept anywhere: it follows from the log, so that it
 * survives everything that the log survives. What was missed while no process ran is done once, at once; then comes the
 * next regular time. The machines decide, so that of several processes only one gets something to do.
 */
export class Schedules {
  readonly #area: Area
  readonly #spreadMs: number
  readonly #retention: Retention
  #harvested = ''
  #watchedAt = Number.NEGATIVE_INFINITY

  constructor(area: Area) {
    this.#area = area
    this.#retention = new Retention(area)
    this.#spreadMs = fractionOf(area.entropy, harvestSpreadMs)
  }

  /**
   * When a process begins to run, there may have been no receiver since the log ended: the failures of every day since
   * then are read. Of processes that begin one after the other only the first gets to do it.
   */
  async begin(): Promise<void> {
    const { options, store, clock, engine } = this.#area
    const { portal, receiver, schedules = true } = options
    const last = await store.readLast()
    // A log that has only begun has missed nothing.
    if (!portal || !receiver || !schedules || !last || last.position === 1) return
    const now = toInstant(clock.now())
    const data = { reason: 'downtime', days: daysBetween(last.at, now), now }
    await engine.record(async () => {
      const message = { type: 'portal.harvestSoon', data: { ...data, waiting: await waitingDays(store) } }
      return { targets: [{ stream: portalStream, message }] }
    })
  }

  /** Does what is due. */
  async look(): Promise<void> {
    const { consentService, portal, schedules = true } = this.#area.options
    if (!schedules) return
    await inTurn(
      async () => portal && this.#harvest(),
      async () => consentService && this.#lapse(),
      () => this.#watch(),
      () => this.#retention.look(),
    )
  }

  /** Once a day: what only time changes. */
  async #watch(): Promise<void> {
    const { options, clock, log } = this.#area
    if (isWithin(dayMs, this.#watchedAt, clock.now())) return
    this.#watchedAt = clock.now()
    const certificates = certificatesIn(options).map(
      used => () =>
        this.#watchCertificate(used).catch((error: unknown) => {
          if (!(error instanceof AverbaError)) throw error
          log({ message: error.message, error: nameOf(error) })
        }),
    )
    await inTurn(async () => options.consentService && this.#watchFreshness(), ...certificates)
  }

  /** Whether consents can be kept as fresh as asked. */
  async #watchFreshness(): Promise<void> {
    const plan = await unlessStopped(planSync(this.#area))
    const { ok = true, detail = '' } = plan ?? {}
    if (!ok) this.#area.log({ message: 'the consents cannot be kept as fresh as asked', detail })
  }

  /** When the portal is next asked for its failures and its list. */
  nextHarvest(): Instant | undefined {
    const { portal, schedules = true } = this.#area.options
    if (!portal || !schedules) return undefined
    const now = this.#area.clock.now()
    const today = this.#harvestOf(brasiliaDay(now))
    return toInstant(today > now ? today : this.#harvestOf(brasiliaDay(now + dayMs)))
  }

  /**
   * Asks for the failures of every day that was not asked for since it ended, and for the list with its last successes.
   */
  async #harvest(): Promise<void> {
    const { clock, engine, store, options } = this.#area
    const now = clock.now()
    const today = brasiliaDay(now)
    const day = this.#harvestOf(today) <= now ? today : brasiliaDay(now - dayMs)
    if (day === this.#harvested) return
    const began = await store.readAt(1)
    const since = brasiliaDay(began ? fromInstant(began.at) : now)
    const message = { type: 'portal.harvest', data: { day, today, since, ...addressedTo(options.portal) } }
    await engine.record(async () => ({ targets: [{ stream: portalStream, message }] }))
    this.#harvested = day
  }

  #harvestOf(day: string): number {
    return fromInstant(readIso(`${day}T${harvestAt}`) ?? '') + this.#spreadMs
  }

  /** Tells consents whose time is over what time it is. The view only says whom to tell. */
  async #lapse(): Promise<void> {
    const { clock, engine } = this.#area
    const now = toInstant(clock.now())
    const message = { type: 'consent.passTime', data: { now } }
    let failed: PromiseRejectedResult | undefined
    for (let last = { consent: '', at: '' }; ; ) {
      // While the view stands still, nobody knows whom to tell: they are told once it has caught up.
      const rows = (await unlessStopped(this.#lapsing(now, last))) ?? []
      const tell = ({ consent: stream }: { consent: string }) =>
        engine.record(async () => ({ targets: [{ stream, message }] }))
      // They meet in the same commits, and one that cannot be told holds up no other.
      const told = await Promise.allSettled(rows.map(tell))
      failed ??= told.find(each => each.status === 'rejected')
      const end = rows.at(-1)
      if (!end && failed) throw failed.reason
      if (!end) return
      last = end
      await giveWay()
    }
  }

  /** A page of expired consents, after the last one: an index leads to them and holds no others. */
  async #lapsing(now: Instant, last: { consent: string; at: Instant }) {
    const rows = await this.#area.views
      .selectFrom('consents')
      .select(['consent', 'lapses_at'])
      .where('lapses_at', '>=', last.at)
      .where('lapses_at', '<=', now)
      .where(eb => eb.or([eb('lapses_at', '>', last.at), eb('consent', '>', last.consent)]))
      .orderBy('lapses_at')
      .orderBy('consent')
      .limit(lapsesPage)
      .execute()
    return rows.map(({ consent, lapses_at: at }) => ({ consent, at: at ?? now }))
  }

  /** The machine decides which counts of days left are worth an event. */
  async #watchCertificate({ service, source, whose }: UsedCertificate): Promise<void> {
    const { engine, clock } = this.#area
    const certificate = await valueFrom(source, `${whose} certificate`)
    const { daysLeft } = await useCertificate(certificate, clock.now(), whose)
    const message = { type: 'certificate.observe', data: { service, daysLeft } }
    await engine.record(async () => ({ targets: [{ stream: `certificate-${service}`, message }] }))
  }
}
