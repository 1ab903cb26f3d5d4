import { staticHeaders } from '../../src/adapters/portal/authentication.ts'
import type { ValidationInput } from '../../src/api/validations/validations.ts'
import type { Averba } from '../../src/averba/averba.ts'
import { currentDefinitions, type Definitions } from '../../src/averba/averba.ts'
import type { AverbaOptions } from '../../src/index.ts'
import type { Entropy } from '../../src/runtime/entropy.ts'
import {
  createSimulators,
  credentials,
  type Simulators,
} from '../../src/simulation/services/create-simulators.ts'
import { seededEntropy } from '../../src/simulation/world/seeded-entropy.ts'
import { withinBudget } from '../../src/simulation/world/simulate.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import type { Actor } from '../../src/vocabulary/message.ts'
import type { Book } from './book.ts'
import { type CrashPoint, CrashPoints } from './crash-points.ts'
import { Disk } from './disk.ts'
import type { Backup, Erased } from './erased.ts'
import { Host } from './host.ts'
import { DiedError, type Ground, Life } from './life.ts'
import { peopleCount, personOf, receiverUrl, secretFrom, subscriptions } from './people.ts'
import { PeopleAtService } from './people-at-service.ts'
import { SealedParts } from './sealed-parts.ts'
import { TrackedClock, turn } from './tracked-clock.ts'

const hosts = {
  consentService: 'consentimento.exemplo.br',
  tokenService: 'gateway.exemplo.br',
  validationService: 'validacao.exemplo.br',
  portal: 'portal.exemplo.br',
} as const
const portalAddress = '161.148.0.1'

/** The header that carries our id of a validation to the gateway. */
export const traceHeader = 'x-rastreio'

/** So many turns without anybody at work, and everybody waits for the clock. */
const quietTurns = 24
/** How long a host waits for one thing, in virtual time. */
const patienceMs = 30 * 60_000
/** How often an engine may die in a row while it opens. */
const deathsMax = 20

/** The services, the time, the disk, and the engine, which can die and come again. */
export class Box {
  readonly clock = new TrackedClock()
  readonly services: Simulators
  readonly disk = new Disk()
  readonly points: CrashPoints
  readonly book: Book
  readonly host: Host
  readonly people: PeopleAtService
  /** What was to be validated, the oldest first. */
  readonly validations: ValidationInput[] = []
  /** Where the log has those that pay again for another one: what was let in, and not lost with a restore since. */
  readonly paidAgain = new Map<string, number>()
  /** How far the engine's clock is ahead of the services'. */
  jumpMs = 0
  /** Whether a clock was ever wrong: the engine's, or a service's. */
  readonly wrongClocks = { engine: false, services: false }
  /** What engines want to be notified of from now on. */
  wanted = subscriptions
  /** What engines decide and show by from now on. */
  version: Definitions = currentDefinitions
  /** Who acts for others, or for themselves: whoever was enrolled last. */
  actor: Actor | undefined
  /** Who was erased. */
  readonly erased = new Map<string, Erased>()
  /** What is sealed in the log. */
  readonly sealed = new SealedParts()
  /** The newest backup. */
  backup: Backup | undefined
  /** How often the log was put back to a backup. */
  rollbacks = 0
  readonly entropy: Entropy
  #life: Life | undefined
  readonly #options: AverbaOptions
  readonly #ground: Ground

  constructor(seed: number, book: Book) {
    const { clock } = this
    const entropy = seededEntropy(seed)
    this.book = book
    this.entropy = entropy
    this.host = new Host(this)
    this.points = new CrashPoints(point => this.book.reach(`crash ${point}`))
    this.services = createSimulators({
      clock,
      entropy,
      deliver: request => this.#deliver(request),
      onFault: ({ kind }) => book.reach(`fault ${kind}`),
      onServed: (...what) => book.tell('served', ...what),
    })
    for (let person = 0; person < peopleCount; person++) {
      const { cpf, titular } = personOf(person)
      this.services.validationService.addPerson(cpf, { nome: titular.nome })
    }
    this.people = new PeopleAtService(this.services.consentService)
    const { consumerKey, consumerSecret, service, portalHeaders } = credentials
    this.#options = {
      store: this.disk.path,
      entropy,
      fetch: this.#fetch(),
      logger: line => this.book.lines.push(line),
      consentService: {
        baseUrl: `https://${hosts.consentService}`,
        certificate: { cert: '', key: '' }, // No socket asks for it.
      },
      tokenService: { url: `https://${hosts.tokenService}/token`, consumerKey, consumerSecret },
      validationService: { baseUrl: `https://${hosts.validationService}`, service, traceHeader },
      portal: { baseUrl: `https://${hosts.portal}`, authenticate: staticHeaders(portalHeaders) },
      receiver: { publicUrl: receiverUrl, secretFrom },
      subscriptions,
      // Where nobody looks for the claims: in every third world.
      ...(seed % 3 === 0 && { retention: { 'validation.claims': 'until-settled' } }),
      // Where records have keys of their own: in every fifth one.
      ...(seed % 5 === 1 && { recordKeys: ['consent', 'notification', 'validation'] }),
      // Where backups are not kept for long, and older keys end within days: in every other one.
      ...(seed % 2 === 0 && { backupRetentionDays: 2 }),
    }
    const jumpMs = () => this.jumpMs
    this.#ground = {
      clock,
      points: this.points,
      disk: this.disk,
      jumpMs,
      version: () => this.version,
      onExchanged: (...what) => book.tell('exchanged', ...what),
    }
  }

  get isAlive(): boolean {
    return this.#life !== undefined && !this.#life.isOver
  }

  get averba(): Averba {
    if (!this.#life) throw new TypeError('No engine was opened')
    return this.#life.averba
  }

  /** Opens the engine, as often as it takes, unless it lives. */
  async open(): Promise<void> {
    for (let deaths = 0; !this.isAlive; deaths++) {
      if (deaths === deathsMax) throw new TypeError('The engine dies whenever it is opened')
      try {
        this.#life?.release()
        this.#life = await Life.begin(this.#ground, { ...this.#options, subscriptions: this.wanted })
      } catch (error) {
        if (!(error instanceof DiedError)) throw error
        this.book.tell('died')
        continue
      }
      this.host.attend(this.#life)
    }
  }

  /** The engine that is asked. */
  get life(): Life {
    if (!this.#life) throw new TypeError('No engine was opened')
    return this.#life
  }

  /** Opens another engine beside the one that is asked; from now on that one is. Gives the former. */
  async openAnother(): Promise<Life> {
    const former = this.life
    this.#life = undefined
    await this.open()
    this.book.reach('two engines')
    return former
  }

  /** Waits for what several engines do, which may die of it. What else they throw is the host's own to look at. */
  async waitForAll(work: readonly Promise<unknown>[]): Promise<void> {
    const done = await this.wait(() => Promise.allSettled(work))
    for (const each of done?.value ?? []) {
      if (each.status === 'fulfilled') continue
      const { reason } = each
      if (reason instanceof DiedError) this.book.tell('died')
      else this.book.tell('failed', reason)
      if (!(reason instanceof DiedError || reason instanceof AverbaError)) throw reason
    }
  }

  /** Ends an engine beside the one that is asked: in an orderly way, if it can. */
  async closeFormer(former: Life): Promise<void> {
    former.resume()
    await this.waitForAll([former.during(former.averba.close())])
    former.end()
    former.release()
  }

  /** Ends the engine in an orderly way. */
  async close(): Promise<void> {
    const life = this.#life
    if (!life || life.isOver) return
    await this.drive(() => life.averba.close())
    life.end()
    life.release()
  }

  /**
   * Lets something happen at the living engine, and time pass until it has. `undefined` when the engine died of it, or it
   * takes longer than anybody waits.
   */
  async drive<T>(work: () => Promise<T>): Promise<{ readonly value: T } | undefined> {
    const life = this.#life
    if (!life || life.isOver) return undefined
    const done = await this.wait(() => life.during(work())).catch((error: unknown) => {
      if (!life.isOver) throw error
      return undefined
    })
    if (!life.isOver) return done
    this.book.tell('died')
    return undefined
  }

  /** Lets time pass until something has ended; `undefined` when it takes longer than anybody waits. */
  async wait<T>(work: () => Promise<T>): Promise<{ readonly value: T } | undefined> {
    const ended: ({ value: T } | { error: unknown })[] = []
    work().then(
      value => ended.push({ value }),
      error => ended.push({ error }),
    )
    const limit = this.clock.now() + patienceMs
    while (!(await this.#isQuiet(() => ended.length > 0))) {
      const next = this.clock.nextDue()
      if (next === undefined) throw new TypeError('Somebody waits, and not for the clock')
      if (next > limit) return undefined
      await this.clock.advanceTo(next)
    }
    const [first] = ended
    if (first && 'error' in first) throw first.error
    return first
  }

  /** Lets time pass, from one thing that comes due to the next. */
  async passUntil(at: number): Promise<void> {
    for (;;) {
      await this.#isQuiet(() => false)
      const next = this.clock.nextDue()
      if (next === undefined || next > at) break
      await this.clock.advanceTo(next)
    }
    await this.clock.advanceTo(at)
  }

  /** Lets time pass while something is so, from one thing that comes due to the next. */
  async passWhile(isSo: () => boolean): Promise<void> {
    const limit = this.clock.now() + patienceMs
    while (!(await this.#isQuiet(() => !isSo()))) {
      const next = this.clock.nextDue()
      if (next === undefined || next > limit) return
      await this.clock.advanceTo(next)
    }
  }

  pass(point: CrashPoint): void {
    this.#life?.pass(point)
  }

  dispose(): void {
    this.#life?.end()
    this.disk.remove()
  }

  /** Waits until nobody is at work any more; true at once when what is waited for is there. */
  async #isQuiet(isThere: () => boolean): Promise<boolean> {
    let { activity } = this.clock
    for (let turns = 0; turns < quietTurns; turns++) {
      if (isThere()) return true
      if (this.clock.isEndless)
        throw new TypeError('So many requests are made at one time that there is no end of them')
      await turn()
      if (activity === this.clock.activity) continue
      activity = this.clock.activity
      turns = -1
    }
    return isThere()
  }

  #fetch(): Fetch {
    const { reach } = this.services
    const services: Record<string, Fetch> = {
      [hosts.consentService]: request => reach.consentService(request, { clientName: 'gestora-de-exemplo' }),
      [hosts.tokenService]: request => reach.tokenService(request),
      [hosts.validationService]: request => reach.validationService(request),
      [hosts.portal]: request => reach.portal(request),
    }
    return withinBudget(this.clock, async request => {
      this.clock.activity += 1
      const service = services[new URL(request.url).hostname]
      if (!service) throw new TypeError('No simulated service has this name')
      await this.clock.arrive()
      return service(request)
    })
  }

  /** The way of a notification: nobody listens where the engine is dead. */
  async #deliver(request: Request): Promise<Response> {
    request.signal.throwIfAborted()
    const life = this.#life
    if (!life || life.isOver) throw new TypeError('The connection was refused')
    const arrived = life.inside('delivery.before', 'delivery.after', () =>
      life.averba.receiver.fetch(request, { remoteAddress: portalAddress }),
    )
    const response = await life.during(arrived)
    this.book.tell('received', request, response)
    return response
  }
}
