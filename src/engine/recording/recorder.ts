import { type Clock, monotonicClock } from '../../runtime/clock.ts'
import { KeyedLock, Semaphore } from '../../runtime/locks.ts'
import type { AttemptEnd } from '../../store/ledger/effect-row.ts'
import type { Store } from '../../store/store.ts'
import type { Append, Appended, NewReceipt, Receipt } from '../../store/writing/append.ts'
import { EpochMissingError, KeyringUnreadableError } from '../../vault/keyring.ts'
import { AverbaError, type ErrorCode, hasCode } from '../../vocabulary/errors.ts'
import { toInstant, wrongClockMs } from '../../vocabulary/instant.ts'
import type { Actor, Basis, RecordedEvent } from '../../vocabulary/message.ts'
import type { DecisionRequest, Decisions } from './decisions.ts'

/** Who makes a request, for what purpose, and under which ids. */
export interface RequestContext {
  readonly commandId?: string
  readonly correlationId?: string
  readonly actor?: Actor
  readonly basis?: Basis
}

const decisionsMax = 50
/** The limit of commands, and of facts, in progress, including those that wait for their stream. */
const inFlightMax = 10_000
/** How often a fact is retried while another process holds the store: for minutes, since each try waits too. */
const busyRetriesMax = 60

/** Appends decisions to the log: facts until they succeed, commands a limited number of times. */
export class Recorder {
  readonly #store: Store
  readonly #clock: Clock
  readonly #decisions: Decisions
  readonly #announce: (event: RecordedEvent) => void
  readonly #streamLocks = new KeyedLock()
  readonly #semaphores: Readonly<Record<keyof InFlight, Semaphore>> = {
    commands: new Semaphore(inFlightMax),
    facts: new Semaphore(inFlightMax),
  }
  readonly #writeRetry: WriteRetry

  constructor(
    store: Store,
    clock: Clock,
    decisions: Decisions,
    announce: (event: RecordedEvent) => void,
    waiting: WriteRetryOptions,
  ) {
    this.#store = store
    this.#clock = clock
    this.#decisions = decisions
    this.#announce = announce
    this.#writeRetry = new WriteRetry(clock, waiting)
  }

  /** How many decisions are in progress, which indicates memory use. */
  get inFlight(): InFlight {
    const { commands, facts } = this.#semaphores
    return { commands: inFlightCount(commands), facts: inFlightCount(facts) }
  }

  /**
   * Decides and appends. Decisions on one stream run one after the other, so only other processes cause conflicts.
   * Beyond the limit, commands are refused, and so are facts that their sender keeps; other facts wait. The result of a
   * call also waits while the disk is full or failing, until the log is closing.
   *
   * @throws {AverbaError} `REFUSED`, `CONFLICT`, for commands only; `STORE_BUSY` when too many are in progress, and
   * `STORE_UNSAFE` while the clock is wrong
   */
  async record(createRequest: () => Promise<DecisionRequest>, options: RecordOptions): Promise<RecordedOrReceipt> {
    const kind = options.isCommand ? 'commands' : 'facts'
    // What we alone know is recorded all the same.
    const mayRefuse = options.isCommand || options.isKeptElsewhere
    if (mayRefuse && this.#store.clockFault(wrongClockMs) !== undefined) await this.#checkClock()
    const places = this.#semaphores[kind]
    const record = () => this.#record(createRequest, options)
    const work = options.isAnswer ? () => this.whenWritable(record) : record
    if (kind === 'facts' && options.isKeptElsewhere !== true) return places.within(work)
    const recording = places.tryWithin(work)
    if (recording) return recording
    const hint = `Wait for earlier ${kind} before sending more`
    throw new AverbaError('STORE_BUSY', `Cannot record: ${inFlightMax} ${kind} are waiting already`, { hint })
  }

  /** Repeats what nobody would ask for again while the store fails, until the log is closing. Not to be nested. */
  whenWritable<T>(work: () => Promise<T>, what = 'the result of a call'): Promise<T> {
    return this.#writeRetry.retryUntilWritable(work, what)
  }

  /** The times of the log never go back: those of a clock far ahead would stay. */
  async #checkClock(): Promise<void> {
    const fault = await this.#store.findClockFault(wrongClockMs)
    if (fault === undefined) return
    throw new AverbaError('STORE_UNSAFE', `Cannot record: ${fault}`, { hint: 'Set the clocks of both by NTP' })
  }

  async #record(createRequest: () => Promise<DecisionRequest>, options: RecordOptions): Promise<RecordedOrReceipt> {
    const isFact = !options.isCommand
    let { settles } = options
    let reason = ''
    // A fact is true, so it is decided again until it is recorded. A command gives up after some tries.
    for (let decisions = 0; isFact || decisions < decisionsMax; decisions++) {
      const request = await createRequest()
      // A stream with a new id needs no lock: no other decision uses it.
      const streams = request.targets.flatMap(({ stream, isNew }) => (isNew ? [] : stream))
      const decide = () => this.#decide(request, { ...options, settles })
      const made = await (streams.length > 0 ? this.#streamLocks.run(streams, decide) : decide())
      if (made.status !== 'conflict') return made
      reason = made.reason
      // Another attempt has begun, or ended the effect. What we learned is still true, and is recorded as a late fact.
      if (settles && !(await this.#store.canSettle(settles))) settles = undefined
    }
    const hint = 'Other processes append all the time. Try again'
    throw new AverbaError('CONFLICT', `Cannot record: ${reason}`, { hint })
  }

  async #decide(
    request: DecisionRequest,
    { isCommand, about, receipt: requested, settles }: RecordOptions,
  ): Promise<RecordedOrReceipt | AppendConflict> {
    const isFact = !isCommand
    const decided = await this.#decisions.decide(request)
    const { refused, code: ownCode, streams, events } = decided
    if (refused !== undefined && isFact) throw new TypeError(`A fact cannot be refused: ${refused}`)
    // Not stored as a receipt: nothing is appended, and the same command may be accepted later.
    if (refused !== undefined && ownCode !== undefined) throw refusalError(refused, ownCode)
    const code: NewReceipt['code'] = refused === undefined ? 'accepted' : 'refused'
    const receipt = requested && { ...requested, code, detail: refused ?? '' }
    const {
      targets: _,
      preconditions = [],
      concerns,
      whenErased = isFact ? undefined : 'refuse',
      ...consequences
    } = request
    const appended = await this.#append(isFact, {
      at: toInstant(this.#clock.now()),
      // A refusal depends on these streams too: based on outdated ones, a wrong refusal would be stored.
      streams: [...streams, ...preconditions],
      events,
      ...(about && { about }),
      ...(receipt && { receipt }),
      ...(settles && { settles }),
      ...(concerns !== undefined && { concerns }),
      ...(whenErased && { whenErased }),
      ...(refused === undefined && consequences),
    })
    if (appended.status === 'known') return { ...appended, position: appended.receipt.position, events: [] }
    if (appended.status === 'conflict') {
      this.#decisions.invalidate(decided)
      return appended
    }
    this.#decisions.remember(decided, appended.events)
    if (refused !== undefined) throw refusalError(refused)
    for (const event of appended.events) this.#announce(event)
    return appended
  }

  /** Appends. A fact is retried while another process holds the store; a command fails at once. */
  async #append(isFact: boolean, input: Append): Promise<Appended> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#store.append(input)
      } catch (error) {
        const isBusy = hasCode(error, 'STORE_BUSY')
        if (!isFact || !isBusy || tries >= busyRetriesMax) throw error
      }
    }
  }
}

/** The numbers of commands and facts in progress, and their limits. */
export interface InFlight {
  readonly commands: { readonly count: number; readonly max: number }
  /** Answers of services, notifications and findings of schedules. */
  readonly facts: { readonly count: number; readonly max: number }
}

function inFlightCount({ count, max }: Semaphore): InFlight['facts'] {
  return { count, max }
}

/** Who requests the recording, the receipt of a command under an id, and the effect that ends. */
export interface RecordOptions {
  /** It may be refused. Without it, it is a fact. */
  readonly isCommand?: true
  /** The sender keeps the fact and sends it again, so it may be refused. */
  readonly isKeptElsewhere?: boolean
  /** The result of a call, which no other place keeps: it waits while the store cannot be written. */
  readonly isAnswer?: boolean
  readonly about?: RequestContext
  readonly receipt?: Pick<NewReceipt, 'commandId' | 'digest'>
  readonly settles?: AttemptEnd | undefined
}

type AppendConflict = Extract<Appended, { status: 'conflict' }>

export type RecordedOrReceipt = Exclude<Appended, { status: 'conflict' }> & {
  readonly position: number
  readonly events: readonly RecordedEvent[]
}

export function refusalError(reason: string, code: ErrorCode = 'REFUSED'): AverbaError {
  const hint = refusalHints[code]
  return new AverbaError(code, `Cannot do this now: ${reason}`, hint === undefined ? {} : { hint })
}

const refusalHints: Partial<Record<ErrorCode, string>> = {
  REFUSED:
    'Nothing was sent. When the reason no longer holds, ask under a new command id: a refusal is stored with its id',
  // The machines report this code only for the portal of the log.
  MISCONFIGURED:
    'Use another log for another portal. If the same portal has moved, give its former address as portal.knownAs',
  // The machines report this code only for a hold.
  NOT_FOUND: 'Give the same reason as to subjects.hold: the events subject.held contain it',
  BUDGET_SPENT: 'Ask again under the same id after midnight in Brasilia, or raise validationService.paidPerDayMax',
}

const [waitMinMs, waitMaxMs] = [1_000, 60_000]
/** How long an answer waits for the store while the log is closing: less than closing waits for work in progress. */
const closingWaitMs = 10_000

type TryResult<T> = { readonly done: T } | { readonly failure: AverbaError }

/** The result of a command, recorded now or before. `effect` is empty when it requested none. */
export interface CommandResult {
  readonly position: number
  readonly effect: string
  readonly replayed: boolean
  readonly events: readonly RecordedEvent[]
  /** Its data subject was erased since: the answer is an error that reports the outcome of its call. */
  readonly isOfErased?: boolean
}

/** The result of a command that was recorded now. */
export function newResult({ position, events }: Pick<CommandResult, 'position' | 'events'>): CommandResult {
  const effect = events.find(event => event.effects?.length)
  return { position, effect: effect ? `${effect.id}/0` : '', replayed: false, events }
}

/**
 * The result of a command that was recorded before under the same id.
 *
 * @throws {AverbaError} `COMMAND_REUSED` with another input, `SUBJECT_ERASED` when its digest was erased with a person
 * and it has no call, and the refusal when it was refused
 */
export function repeatResult(receipt: Receipt, digest: Uint8Array): CommandResult {
  const { commandId, position, effect } = receipt
  const known = { position, effect, replayed: true, events: [] }
  if (receipt.digest.length === 0) {
    // The input was erased and cannot be compared. The outcome of the call can still be reported.
    if (receipt.code === 'accepted' && effect !== '') return { ...known, isOfErased: true }
    throw erasedCommandError(commandId)
  }
  if (!Buffer.from(digest).equals(Buffer.from(receipt.digest)))
    throw new AverbaError('COMMAND_REUSED', `Cannot use the command id "${commandId}" again: its input differs`, {
      hint: 'Give every command its own id, and repeat an id only with the same input',
    })
  if (receipt.code === 'refused') throw refusalError(receipt.detail)
  return known
}

/** The error for the id of a command whose data subject was erased; `outcome` is that of its call. */
export function erasedCommandError(commandId: string, outcome?: 'settled' | 'declined' | 'unknown'): AverbaError {
  const outcomeText = outcome === undefined ? '' : `. ${outcomeTexts[outcome]}`
  const cannot = `Cannot use the command id "${commandId}" again: its data subject was erased${outcomeText}`
  const hint = 'Its input was erased, and it is not repeated. subjects.receipt reports the erasure of the person'
  return new AverbaError('SUBJECT_ERASED', cannot, { hint })
}

const outcomeTexts = {
  settled: 'Its call was made',
  declined: 'Its call had no effect',
  unknown: 'Its call was perhaps made',
}

/** How waiting for an unwritable store is reported and ended. */
export interface WriteRetryOptions {
  readonly closing: AbortSignal
  readonly onTrouble: (what: string, error: unknown) => void
}

/**
 * Holds the result of a call while the store cannot be written: the call cannot be repeated, and may have been paid
 * for. One caller retries for all waiting ones, so that a full disk is not tried once for each.
 */
export class WriteRetry {
  readonly #clock: Clock
  readonly #elapsedMs: () => number
  #endsAtMs = Number.POSITIVE_INFINITY
  readonly #options: WriteRetryOptions
  /** By error code: settles when the retrying caller has succeeded, or the log is closing. */
  readonly #retrying = new Map<ErrorCode, Promise<unknown>>()

  constructor(clock: Clock, options: WriteRetryOptions) {
    this.#clock = clock
    this.#options = options
    this.#elapsedMs = monotonicClock(clock)
    options.closing.addEventListener('abort', () => {
      this.#endsAtMs = this.#elapsedMs() + closingWaitMs
    })
  }

  /** Repeats the work until it can be written, or for some seconds more when the log is closing. */
  async retryUntilWritable<T>(work: () => Promise<T>, what: string): Promise<T> {
    let attempt = await this.#try(work, what)
    if ('failure' in attempt)
      this.#options.onTrouble(`${what} cannot be recorded: it waits until the store can be written`, attempt.failure)
    while ('failure' in attempt) {
      const { code } = attempt.failure
      const ongoing = this.#retrying.get(code)
      if (ongoing) {
        await ongoing
        attempt = await this.#try(work, what)
      } else {
        const retrying = this.#retry(work, code, what)
        const over = retrying.catch(() => undefined)
        this.#retrying.set(code, over)
        attempt = await retrying.finally(() => this.#retrying.delete(code))
      }
    }
    return attempt.done
  }

  /** Retries until it succeeds or fails with another code. */
  async #retry<T>(work: () => Promise<T>, code: ErrorCode, what: string): Promise<TryResult<T>> {
    for (let waitMs = waitMinMs; ; waitMs = Math.min(waitMs * 2, waitMaxMs)) {
      const { closing } = this.#options
      const [ms, until] = closing.aborted ? [waitMinMs, undefined] : [waitMs, closing]
      await this.#clock.sleep(ms, until, 'a store that can be written')
      const attempt = await this.#try(work, what)
      if ('done' in attempt || attempt.failure.code !== code) return attempt
    }
  }

  async #try<T>(work: () => Promise<T>, what: string): Promise<TryResult<T>> {
    const isLast = this.#elapsedMs() >= this.#endsAtMs
    try {
      return { done: await work() }
    } catch (error) {
      // A try that began before the last one may end after the store has closed.
      const isClosed = hasCode(error, 'CLOSED')
      if (!isClosed && !isTemporary(error)) throw error
      if (!isClosed && !isLast) return { failure: error }
      this.#options.onTrouble(`${what} could not be recorded before closing`, error)
      throw error
    }
  }
}

/** Whether the failure is temporary: the disk is full or locked, or the keyring is missing or behind. */
function isTemporary(error: unknown): error is AverbaError {
  if (error instanceof KeyringUnreadableError || (error instanceof EpochMissingError && error.isNewer)) return true
  return hasCode(error, 'STORE_UNSAFE', 'STORE_BUSY')
}
