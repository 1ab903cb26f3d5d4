import type { Clock } from '../../runtime/clock.ts'
import { KeyedLock } from '../../runtime/keyed-lock.ts'
import { Semaphore } from '../../runtime/semaphore.ts'
import type { Store } from '../../store/store.ts'
import type { Append, Appended, AskedReceipt, NewReceipt } from '../../store/writing/append.ts'
import { AverbaError, type ErrorCode } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Actor, Basis, RecordedEvent, Settlement } from '../../vocabulary/message.ts'
import type { DecisionRequest, Decisions } from './decisions.ts'
import { WriteRetry, type WriteRetryOptions } from './write-retry.ts'

/** Who asks, why, and under which id. */
export interface RequestContext {
  readonly commandId?: string
  readonly correlationId?: string
  readonly actor?: Actor
  readonly basis?: Basis
}

const decisionsMax = 50
/** How many commands, and how many facts, may be under way, including those that wait for their turn at a stream. */
const underWayMax = 10_000
/** How often a fact tries a store that another process holds: for minutes, since each try waits by itself. */
const busyRetriesMax = 60

/** Gets decisions into the log: facts until they are in, commands a bounded number of times. */
export class Recorder {
  readonly #store: Store
  readonly #clock: Clock
  readonly #decisions: Decisions
  readonly #announce: (event: RecordedEvent) => void
  readonly #turns = new KeyedLock()
  readonly #places: Readonly<Record<keyof InFlight, Semaphore>> = {
    commands: new Semaphore(underWayMax),
    facts: new Semaphore(underWayMax),
  }
  readonly #knocking: WriteRetry

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
    this.#knocking = new WriteRetry(clock, waiting)
  }

  /** How many decisions are under way, which tells how much memory they take. */
  get underWay(): InFlight {
    const { commands, facts } = this.#places
    return { commands: shown(commands), facts: shown(facts) }
  }

  /**
   * Decides and appends. Decisions on the same stream go one after the other in this process: only other processes can
   * be in the way. Beyond the limit, commands are refused, and so are facts that their sender keeps and sends again;
   * all other facts wait, which slows their source. The result of a call also waits for a disk that is full or failing,
   * until the log is closing.
   *
   * @throws {AverbaError} `REFUSED`, `CONFLICT`, for commands only, and `STORE_BUSY` when too many are under way
   */
  async record(deliver: () => Promise<DecisionRequest>, options: RecordOptions): Promise<RecordedOrReceipt> {
    const kind = options.receipt === undefined ? 'facts' : 'commands'
    const places = this.#places[kind]
    const record = () => this.#record(deliver, options)
    const work = options.isAnswer ? () => this.#knocking.retryUntilWritable(record) : record
    if (kind === 'facts' && options.isKeptElsewhere !== true) return places.within(work)
    const recording = places.tryWithin(work)
    if (recording) return recording
    const hint = `Wait for earlier ${kind} before you send more`
    throw new AverbaError('STORE_BUSY', `Cannot record: ${underWayMax} ${kind} wait already`, { hint })
  }

  async #record(deliver: () => Promise<DecisionRequest>, options: RecordOptions): Promise<RecordedOrReceipt> {
    const isFact = options.receipt === undefined
    let { settles } = options
    let reason = ''
    // A fact is true: it is decided again until it is in. A command gives up after some tries.
    for (let decisions = 0; isFact || decisions < decisionsMax; decisions++) {
      const delivery = await deliver()
      // No other process knows a stream that was named just now.
      const streams = delivery.targets.flatMap(({ stream, isNew }) => (isNew ? [] : stream))
      const decide = () => this.#decide(delivery, { ...options, settles })
      const made = await (streams.length > 0 ? this.#turns.run(streams, decide) : decide())
      if (made.status !== 'conflict') return made
      reason = made.reason
      // Another process ended the effect: what we learned is true all the same, and comes in as a late fact.
      if (settles && !(await this.#store.isOpen(settles.effect))) settles = undefined
    }
    const hint = 'Other processes append all the time: try again'
    throw new AverbaError('CONFLICT', `Cannot record: ${reason}`, { hint })
  }

  async #decide(
    delivery: DecisionRequest,
    { about, receipt: asked, settles }: AttemptOptions,
  ): Promise<RecordedOrReceipt | AppendConflict> {
    const isFact = asked === undefined
    const decided = await this.#decisions.decide(delivery)
    const { refused, code: ownCode, streams, events } = decided
    if (refused !== undefined && isFact) throw new TypeError(`A fact cannot be refused: ${refused}`)
    // Not remembered: nothing is appended, and the same command may be accepted later.
    if (refused !== undefined && ownCode !== undefined) throw refusal(refused, ownCode)
    const code: NewReceipt['code'] = refused === undefined ? 'accepted' : 'refused'
    const receipt = asked && { ...asked, code, detail: refused ?? '' }
    const appended = await this.#append(isFact, {
      at: toInstant(this.#clock.now()),
      // A refusal rests on these streams too: were they out of date, a wrong refusal would be remembered.
      streams: [...streams, ...(delivery.preconditions ?? [])],
      events,
      ...(about && { about }),
      ...(receipt && { receipt }),
      ...(settles && { settles }),
      ...(delivery.concerns !== undefined && { concerns: delivery.concerns }),
      ...(refused === undefined && delivery.claims && { claims: delivery.claims }),
      ...(refused === undefined && delivery.recent && { recent: delivery.recent }),
      ...(refused === undefined && delivery.moves && { moves: delivery.moves }),
      ...(refused === undefined && delivery.destroys && { destroys: delivery.destroys }),
      ...(delivery.whenErased && { whenErased: delivery.whenErased }),
    })
    if (appended.status === 'known') return { ...appended, position: appended.receipt.position, events: [] }
    if (appended.status === 'conflict') {
      this.#decisions.invalidate(decided)
      return appended
    }
    this.#decisions.remember(decided, appended.events)
    if (refused !== undefined) throw refusal(refused)
    for (const event of appended.events) this.#announce(event)
    return appended
  }

  /** Retries the append of a fact while another process holds the store; a command fails at once. */
  async #append(isFact: boolean, input: Append): Promise<Appended> {
    for (let knocks = 1; ; knocks++) {
      try {
        return await this.#store.append(input)
      } catch (error) {
        const isBusy = error instanceof AverbaError && error.code === 'STORE_BUSY'
        if (!isFact || !isBusy || knocks >= busyRetriesMax) throw error
      }
    }
  }
}

/** How many commands and facts are under way, and how many may be. */
export interface InFlight {
  readonly commands: { readonly count: number; readonly max: number }
  /** Answers of services, notifications and what schedules find. */
  readonly facts: { readonly count: number; readonly max: number }
}

function shown({ count, max }: Semaphore): InFlight['facts'] {
  return { count, max }
}

/** Who asks, what to remember of a command, and which effect ends. Without a receipt it is a fact. */
export interface RecordOptions {
  /** A fact that its sender keeps and sends again: it may be refused. */
  readonly isKeptElsewhere?: boolean
  /** The result of a call, which nobody else keeps: it waits while the store cannot be written. */
  readonly isAnswer?: boolean
  readonly about?: RequestContext
  readonly receipt?: Pick<AskedReceipt, 'commandId' | 'digest' | 'isNew'>
  readonly settles?: { readonly effect: string; readonly as: Settlement; readonly reason: string }
}

/** The options of one try: meanwhile the effect may have ended in another way. */
type AttemptOptions = Omit<RecordOptions, 'settles'> & {
  readonly settles: RecordOptions['settles'] | undefined
}

type AppendConflict = Extract<Appended, { status: 'conflict' }>

/** What was appended, or the receipt of the same command. */
export type RecordedOrReceipt = Exclude<Appended, { status: 'conflict' }> & {
  readonly position: number
  readonly events: readonly RecordedEvent[]
}

/** A refusal as its caller gets it. */
export function refusal(reason: string, code: ErrorCode = 'REFUSED'): AverbaError {
  const hint = hints[code]
  return new AverbaError(code, `Cannot do this now: ${reason}`, hint === undefined ? {} : { hint })
}

/** What to do about a refusal: a remembered one gets the same hint. */
const hints: Partial<Record<ErrorCode, string>> = {
  REFUSED:
    'Nothing was sent. Ask again when that has changed, under a new command id: a refusal is remembered',
  // The portal of the log is the only option that a machine knows.
  MISCONFIGURED:
    'Give another portal a log of its own. Where the same portal has moved, give its former address as portal.knownAs',
  // A hold is the only thing that a machine fails to find.
  NOT_FOUND: 'Give the reason as subjects.hold was given it: the events subject.held have each',
  BUDGET_SPENT:
    'Ask again under the same id after midnight in Brasilia, or raise validationService.paidPerDayMax',
}
