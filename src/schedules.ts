import { brasiliaDay, readIso } from './adapters/brasilia.ts'
import { useCertificate } from './adapters/certificate.ts'
import { valueFrom } from './adapters/source.ts'
import type { Area } from './area.ts'
import { fromInstant, toInstant } from './clock.ts'
import { AverbaError } from './errors.ts'
import type { Instant } from './message.ts'
import { fractionOf } from './retry-policy.ts'
import { portalStream } from './subscription-routes.ts'

const dayMs = 86_400_000
/** After the portal's stop of the night, and not in the same minute in every process. */
const harvestAt = '03:30:00'
const harvestSpreadMs = 3_600_000
/** How many consents are told in one go that their time is over. */
const lapsesMax = 500

/**
 * What is done because time has passed. When it is due is not kept anywhere: it follows from the log, so that it
 * survives everything that the log survives. What was missed while no process ran is done once, at once; then comes the
 * next regular time. The machines decide, so that of several processes only one gets something to do.
 */
export class Schedules {
  readonly #area: Area
  readonly #onTrouble: (what: string, error: unknown) => void
  readonly #spreadMs: number
  readonly #lapsed = new Set<string>()
  #harvested = ''
  #watchedAt = Number.NEGATIVE_INFINITY

  constructor(area: Area, onTrouble: (what: string, error: unknown) => void) {
    this.#area = area
    this.#onTrouble = onTrouble
    this.#spreadMs = fractionOf(area.entropy, harvestSpreadMs)
  }

  /** Does what is due. */
  async look(): Promise<void> {
    const { consentService, portal, schedules = true } = this.#area.options
    if (!schedules) return
    if (portal) await this.#harvest()
    if (!consentService) return
    await this.#lapse()
    await this.#watchCertificate().catch((error: unknown) => {
      if (!(error instanceof AverbaError)) throw error
      this.#onTrouble(error.message, error)
    })
  }

  /** When the portal is next asked for its failures and its list. */
  nextHarvest(): Instant | undefined {
    const { portal, schedules = true } = this.#area.options
    if (!portal || !schedules) return undefined
    const now = this.#area.clock.now()
    const today = this.#harvestOf(brasiliaDay(now))
    return toInstant(today > now ? today : this.#harvestOf(brasiliaDay(now + dayMs)))
  }

  /** The failures of every day that has not been asked for since its end, and the list with its last successes. */
  async #harvest(): Promise<void> {
    const { clock, engine } = this.#area
    const now = clock.now()
    const today = brasiliaDay(now)
    const day = this.#harvestOf(today) <= now ? today : brasiliaDay(now - dayMs)
    if (day === this.#harvested) return
    const message = { type: 'portal.harvest', data: { day } }
    await engine.record(async () => ({ targets: [{ stream: portalStream, message }] }))
    this.#harvested = day
  }

  #harvestOf(day: string): number {
    return fromInstant(readIso(`${day}T${harvestAt}`) ?? '') + this.#spreadMs
  }

  /** Consents whose time is over are told what time it is. The view only says whom to tell. */
  async #lapse(): Promise<void> {
    const { clock, engine, views } = this.#area
    const now = toInstant(clock.now())
    const rows = await views
      .selectFrom('consents')
      .select(['consent', 'expires_at'])
      .where('status', 'in', ['PENDENTE', 'ATIVO'])
      .where('knowledge', '!=', 'vanished')
      .where('expires_at', '<=', now)
      .execute()
    const untold = rows.filter(row => !this.#lapsed.has(`${row.consent} ${row.expires_at}`))
    for (const row of untold.slice(0, lapsesMax)) {
      const message = { type: 'consent.passTime', data: { now } }
      await engine.record(async () => ({ targets: [{ stream: row.consent, message }] }))
      this.#lapsed.add(`${row.consent} ${row.expires_at}`)
    }
  }

  /** Once a day: the machine says which of the days that are left are worth an event. */
  async #watchCertificate(): Promise<void> {
    const { clock, engine } = this.#area
    if (clock.now() - this.#watchedAt < dayMs) return
    this.#watchedAt = clock.now()
    const daysLeft = await this.certificateDaysLeft()
    if (daysLeft !== undefined) {
      const message = { type: 'certificate.observe', data: { service: 'consentService', daysLeft } }
      await engine.record(async () => ({ targets: [{ stream: 'certificate-consentService', message }] }))
    }
  }

  /**
   * The days that are left of the client certificate; `undefined` where it is the host's business.
   *
   * @throws {AverbaError} `MISCONFIGURED` when it cannot be had, cannot be used, or has expired
   */
  async certificateDaysLeft(): Promise<number | undefined> {
    const { options, clock } = this.#area
    if (!options.consentService || options.fetch) return undefined
    const certificate = await valueFrom(options.consentService.certificate, 'client certificate')
    return (await useCertificate(certificate, clock.now())).daysLeft
  }
}
