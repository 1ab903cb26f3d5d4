import { withinBudget } from '../../src/adapters/http/answer-body.ts'
import { staticHeaders } from '../../src/adapters/portal/authentication.ts'
import type { SubjectRef } from '../../src/api/subject-directory.ts'
import type { ValidationInput } from '../../src/api/validations/validations.ts'
import { type Averba, currentDefinitions, type Definitions } from '../../src/averba/averba.ts'
import type { AverbaOptions } from '../../src/index.ts'
import { createSimulators, credentials } from '../../src/simulation/services/create-simulators.ts'
import { seededEntropy } from '../../src/simulation/world/seeded-entropy.ts'
import { hosts } from '../../src/simulation/world/simulate.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import { minuteMs } from '../../src/vocabulary/instant.ts'
import type { Actor } from '../../src/vocabulary/message.ts'
import type { Crash } from './crash-points.ts'
import { Disk } from './disk.ts'
import { DiedError, EngineProcess } from './engine-process.ts'
import { Host } from './host.ts'
import { people, receiverUrl, secretFrom, subscriptions } from './people.ts'
import { PeopleAtService } from './people-at-service.ts'
import type { RunRecord } from './run-record.ts'
import { SealedParts } from './sealed-parts.ts'
import { TrackedClock, turnEventLoop } from './tracked-clock.ts'

/** The header that carries our id of a validation to the gateway. */
export const traceHeader = 'x-rastreio'

/** After so many turns of the event loop without activity, all work waits for the clock. */
const quietTurns = 24
/** How long a host waits for one call, in virtual time. */
const waitMaxMs = 30 * minuteMs
/** How often in a row an engine may crash while it opens. */
const deathsMax = 20

export interface Erased {
  readonly cpf: string
  readonly subject: SubjectRef
  /** Whether parts were kept because the law requires it. */
  readonly keeps: boolean
  /** The last bytes of each destroyed part, as it was in the file. */
  readonly pieces: readonly Buffer[]
}

/** A backup, and the erasures known to the host at that time, which keeps this list outside the log. */
interface Backup {
  readonly position: number
  readonly at: number
  readonly erased: ReadonlyMap<string, Erased>
}

/** The world of a run: the services, the clock, the disk, and an engine that can crash and be restarted. */
export class SimulatedHost {
  readonly clock = new TrackedClock()
  readonly disk = new Disk()
  readonly host = new Host(this)
  readonly runRecord
  readonly entropy
  readonly services
  readonly people
  /** The requested validations, oldest first. */
  readonly validations: ValidationInput[] = []
  /** The log positions of accepted validations that pay again for another one, except those that a restore lost. */
  readonly paidAgain = new Map<string, number>()
  nextCrash: Crash | undefined
  /** How far the engine's clock is ahead of the services' clocks. */
  jumpMs = 0
  /** Whether the engine's clock, or a service's, was ever wrong. */
  readonly wrongClocks = { engine: false, services: false }
  /** The declared subscriptions of engines that are opened from now on. */
  declaredSubscriptions = subscriptions
  /** The machines and views of engines that are opened from now on. */
  version: Definitions = currentDefinitions
  /** The actor of commands: the data subject who was enrolled last. */
  asker: { readonly actor?: Actor } = {}
  readonly erased = new Map<string, Erased>()
  readonly sealedParts = new SealedParts()
  backup: Backup | undefined
  /** How often the log was restored from a backup. */
  rollbacks = 0
  #engineProcess: EngineProcess | undefined
  readonly #options: AverbaOptions & { readonly fetch: Fetch }

  constructor(seed: number, runRecord: RunRecord) {
    const entropy = seededEntropy(seed)
    this.runRecord = runRecord
    this.entropy = entropy
    this.services = createSimulators({
      clock: this.clock,
      entropy,
      deliver: request => this.#deliver(request),
      onFault: ({ kind }) => runRecord.markReached(`fault ${kind}`),
      onServed: (...what) => runRecord.notify('served', ...what),
    })
    for (const { cpf, titular } of people) this.services.validationService.addPerson(cpf, { nome: titular.nome })
    this.people = new PeopleAtService(this.services.consentService)
    const { consumerKey, consumerSecret, service, portalHeaders } = credentials
    this.#options = {
      store: this.disk.path,
      entropy,
      fetch: this.#fetch(),
      logger: line => runRecord.logLines.push(line),
      // The certificate is not used without a socket.
      consentService: { baseUrl: `https://${hosts.consentService}`, certificate: { cert: '', key: '' } },
      tokenService: { url: `https://${hosts.tokenService}/token`, consumerKey, consumerSecret },
      validationService: { baseUrl: `https://${hosts.validationService}`, service, traceHeader },
      portal: { baseUrl: `https://${hosts.portal}`, authenticate: staticHeaders(portalHeaders) },
      receiver: { publicUrl: receiverUrl, secretFrom },
      subscriptions,
      // In every third world claims are deleted once they are settled.
      ...(seed % 3 === 0 && { retention: { 'validation.claims': 'until-settled' } }),
      // In every fifth world records have their own keys.
      ...(seed % 5 === 1 && { recordKeys: ['consent', 'notification', 'validation'] }),
      // In every second world backups are kept for two days, so older keys are destroyed soon.
      ...(seed % 2 === 0 && { backupRetentionDays: 2 }),
    }
  }

  get isAlive(): boolean {
    return this.#engineProcess !== undefined && !this.#engineProcess.isDead
  }

  get averba(): Averba {
    return this.engineProcess.averba
  }

  /** Opens the engine if it is not running, again and again if it crashes while it opens. */
  async open(): Promise<void> {
    for (let deaths = 0; !this.isAlive; deaths++) {
      if (deaths === deathsMax) throw new TypeError('Cannot open the engine: it crashes every time')
      try {
        this.#engineProcess?.release()
        const options = { ...this.#options, subscriptions: this.declaredSubscriptions }
        this.#engineProcess = await EngineProcess.start(this, options)
      } catch (error) {
        if (!(error instanceof DiedError)) throw error
        this.runRecord.notify('died')
        continue
      }
      this.host.register(this.#engineProcess)
    }
  }

  /** The process of the engine that the host uses. */
  get engineProcess(): EngineProcess {
    if (!this.#engineProcess) throw new TypeError('No engine was opened')
    return this.#engineProcess
  }

  /** Opens a second engine, which the host uses from now on. Returns the process of the former. */
  async openAnother(): Promise<EngineProcess> {
    const former = this.engineProcess
    this.#engineProcess = undefined
    await this.open()
    this.runRecord.markReached('two engines')
    return former
  }

  /** Waits for work of several engines, which may crash. Throws errors that are not from averba. */
  async waitForAll(work: readonly Promise<unknown>[]): Promise<void> {
    const done = await this.waitFor(() => Promise.allSettled(work))
    for (const each of done?.value ?? []) {
      if (each.status === 'fulfilled') continue
      const { reason } = each
      if (reason instanceof DiedError) this.runRecord.notify('died')
      else this.runRecord.notify('failed', reason)
      if (!(reason instanceof DiedError || reason instanceof AverbaError)) throw reason
    }
  }

  async closeFormer(former: EngineProcess): Promise<void> {
    former.resume()
    await this.waitForAll([former.whileAlive(former.averba.close())])
    former.end()
    former.release()
  }

  async reopen(): Promise<void> {
    await this.close()
    await this.open()
  }

  async close(): Promise<void> {
    const engineProcess = this.#engineProcess
    if (!engineProcess || engineProcess.isDead) return
    await this.runOnEngine(() => engineProcess.averba.close())
    engineProcess.end()
    engineProcess.release()
  }

  /** Lets time pass until work of the engine has ended; `undefined` when the engine crashed or it takes too long. */
  async runOnEngine<T>(work: () => Promise<T>): Promise<{ readonly value: T } | undefined> {
    const engineProcess = this.#engineProcess
    if (!engineProcess || engineProcess.isDead) return undefined
    const done = await this.waitFor(() => engineProcess.whileAlive(work())).catch((error: unknown) => {
      if (!engineProcess.isDead) throw error
      return undefined
    })
    if (!engineProcess.isDead) return done
    this.runRecord.notify('died')
    return undefined
  }

  /** Lets time pass until work has ended; `undefined` when it takes too long. */
  async waitFor<T>(work: () => Promise<T>): Promise<{ readonly value: T } | undefined> {
    const ended: ({ value: T } | { error: unknown })[] = []
    work().then(
      value => ended.push({ value }),
      error => ended.push({ error }),
    )
    const hasEnded = await this.#advance(() => ended.length > 0, this.clock.now() + waitMaxMs)
    if (!hasEnded && this.clock.nextDue() === Number.POSITIVE_INFINITY)
      throw new TypeError('Cannot continue: the work waits for something other than the clock')
    const [first] = ended
    if (first && 'error' in first) throw first.error
    return first
  }

  async advanceUntil(at: number): Promise<void> {
    await this.#advance(() => false, at)
    await this.clock.advanceTo(at)
  }

  /** Advances from one due time to the next while a condition holds. */
  async advanceWhile(condition: () => boolean): Promise<void> {
    await this.#advance(() => !condition(), this.clock.now() + waitMaxMs)
  }

  dispose(): void {
    this.#engineProcess?.end()
    this.disk.remove()
  }

  /** Advances from one due time to the next, none of them after a limit. Reports whether the condition holds then. */
  async #advance(isDone: () => boolean, limit: number): Promise<boolean> {
    while (!(await this.#isQuiet(isDone))) {
      const next = this.clock.nextDue()
      if (next > limit) return false
      await this.clock.advanceTo(next)
    }
    return true
  }

  /** Waits until no work is active, and reports whether the condition holds; returns early when it does. */
  async #isQuiet(isDone: () => boolean): Promise<boolean> {
    let { activity } = this.clock
    for (let turns = 0; turns < quietTurns; turns++) {
      if (isDone()) return true
      if (this.clock.isEndless) throw new TypeError('Cannot continue: requests repeat without a pause')
      await turnEventLoop()
      if (activity === this.clock.activity) continue
      activity = this.clock.activity
      turns = -1
    }
    return isDone()
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
      if (!service) throw new TypeError('Cannot send the request: no simulated service has this host name')
      await this.clock.arrive()
      return service(request)
    })
  }

  /** Delivers a notification; the connection is refused when the engine is dead. */
  async #deliver(request: Request): Promise<Response> {
    request.signal.throwIfAborted()
    const engineProcess = this.#engineProcess
    if (!engineProcess || engineProcess.isDead) throw new TypeError('The connection was refused')
    const arrived = engineProcess.betweenCrashPoints('delivery.before', 'delivery.after', () =>
      engineProcess.averba.receiver.fetch(request, { remoteAddress: '161.148.0.1' }),
    )
    const response = await engineProcess.whileAlive(arrived)
    this.runRecord.notify('received', request, response)
    return response
  }
}
