import { GenerationalCache } from '../../runtime/generational-cache.ts'
import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { type CommandOptions, type Outcome, valueOf } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { defaultWaitMs } from '../commands.ts'
import { ofType } from '../events.ts'
import type { SubjectRef, SubjectSelector } from '../subject-directory.ts'

/** How fresh an answer must be: after an older reading, the service is read first. Without it, the view answers. */
export interface FreshnessOptions {
  readonly ageMaxMs?: number
}

/** What a reading of all consents of a data subject found. */
export interface SyncResult {
  readonly read: number
  /** How many events it recorded. */
  readonly changed: number
  /** Records that could not be read. They are sealed and kept as the service sent them. */
  readonly unreadable: number
}

/** Readings of the consents of data subjects. */
export interface ConsentReadings {
  sync(selector: SubjectSelector, commandOptions?: CommandOptions): Promise<Outcome<SyncResult>>
  /** Reads unless the last reading is fresh enough, and returns when the last one was. */
  refresh(subject: SubjectRef, ageMaxMs: number | undefined): Promise<Instant | null>
  /** Reads again, as `SubjectReadings` does. The readings in full that the list requires do not delay other callers. */
  readOnce(subject: SubjectRef, ageMaxMs: number): Promise<Outcome<SyncResult>>
}

/** Creates the readings that the `consents` area shares. */
export function createConsentReadings(context: ApiContext): ConsentReadings {
  const { clock, commands, engine, store, subjects, views } = context
  const readings = createSubjectReadings(context, (subject, replaced, onAnswered) =>
    sync({ subject }, {}, replaced, onAnswered),
  )

  async function sync(
    selector: SubjectSelector,
    commandOptions: CommandOptions = {},
    replaced: ReplacedReadings = async () => ({}),
    onAnswered?: () => void,
  ): Promise<Outcome<SyncResult>> {
    context.require('consentService')
    const until = clock.now() + (commandOptions.waitMs ?? defaultWaitMs)
    const subject = await subjects.find(selector)
    return commands.send(
      { method: 'consents.sync', subject },
      async () => {
        const message = { type: 'subject.sync', data: await replaced() }
        return { targets: [{ stream: streamOf('subject', subject), message }] }
      },
      commandOptions,
      async ended => {
        onAnswered?.()
        const waitMs = Math.max(0, until - clock.now())
        await commands.wait(() => readChanged(subject), { ...commandOptions, waitMs })
        const { read, changed, unreadable } = ofType(ended, 'subject.synced').data
        return { read, changed, unreadable }
      },
    )
  }

  /** Performs the readings in full that a list requires. One that fails stays pending. */
  async function readChanged(subject: SubjectRef): Promise<void> {
    const changed = views
      .selectFrom('consents')
      .select('consent')
      .where('subject', '=', subject)
      .where('knowledge', 'in', ['changed', 'changing', 'uncertain'])
      .execute()
    for (const { consent } of (await undefinedIfStopped(changed)) ?? (await findPendingReadings(subject))) {
      const pending = await store.effects({ stream: consent, states: ['pending'] })
      for (const { id, type } of pending) if (type === 'consentService.readConsent') await engine.perform(id)
    }
  }

  /** The consents with a pending reading in full, from the ledger. The CPF that a call opens identifies its subject. */
  async function findPendingReadings(subject: SubjectRef): Promise<{ consent: string }[]> {
    const pending = await store.effects({ states: ['pending'] })
    const cpfOfSubject = `${streamOf('subject', subject)}/`
    return pending
      .filter(({ type, opens }) => type === 'consentService.readConsent' && opens?.cpf?.startsWith(cpfOfSubject))
      .map(({ stream: consent }) => ({ consent }))
  }

  return {
    sync: (selector, commandOptions) => sync(selector, commandOptions),
    readOnce: readings.readOnce,
    refresh: (subject, ageMaxMs) => readings.refresh(subject, 'synced_at', ageMaxMs),
  }
}

/** Beyond that many data subjects, one reading too many may be made. */
const subjectsMax = 10_000

/** Finds the deferred readings that a new one replaces, for its message. */
type ReplacedReadings = () => Promise<{ readonly effects?: readonly string[] }>

/** A reading under way, and the one that follows it for callers who need a newer one. */
interface SharedReading<T> {
  readonly beganAt: number
  /** Resolved once the service has answered or the reading has failed. */
  readonly answered: Promise<void>
  readonly ended: Promise<Outcome<T>>
  next: Promise<Outcome<T>> | undefined
}

/** Readings of one kind, by data subject. */
interface SubjectReadings<T> {
  /** Reads now. */
  read(subject: SubjectRef): Promise<Outcome<T>>
  /**
   * Reads again. A caller shares the reading under way if that began recently enough, else the next one: an answer on
   * its way does not show what happened after its request.
   */
  readOnce(subject: SubjectRef, ageMaxMs: number): Promise<Outcome<T>>
  /** Reads unless the last reading is fresh enough, and returns when the last one was, by the view of data subjects. */
  refresh(
    subject: SubjectRef,
    column: 'synced_at' | 'awareness_read_at',
    ageMaxMs: number | undefined,
    sharedMaxMs?: number,
  ): Promise<Instant | null>
}

/**
 * Creates the readings of one kind. Nobody comes back for the outcome of a deferred one: a new reading replaces it, so
 * that an outage does not collect one per question. The oldest stays: it is parked when the outage lasts.
 *
 * @param send requests a reading; after `onAnswered`, the next one may begin while this one finishes
 */
export function createSubjectReadings<T>(
  { clock, isFresh, rows, store }: ApiContext,
  send: (subject: SubjectRef, replaced: ReplacedReadings, onAnswered: () => void) => Promise<Outcome<T>>,
): SubjectReadings<T> {
  const deferred = new GenerationalCache<SubjectRef, readonly string[]>(subjectsMax)
  const underWay = new Map<SubjectRef, SharedReading<T>>()

  async function read(subject: SubjectRef, onAnswered: () => void = () => undefined): Promise<Outcome<T>> {
    const outcome = await send(subject, () => findReplaced(subject), onAnswered)
    if (outcome.status === 'deferred') deferred.set(subject, [...(deferred.get(subject) ?? []), outcome.effect])
    return outcome
  }

  async function findReplaced(subject: SubjectRef): Promise<{ readonly effects?: readonly string[] }> {
    const remembered = deferred.get(subject) ?? []
    if (remembered.length === 0) return {}
    const known = await Promise.all(remembered.map(id => store.effect(id)))
    const left = remembered.filter((_, n) => known[n]?.state === 'deferred')
    deferred.set(subject, left)
    return left.length > 1 ? { effects: left.slice(1) } : {}
  }

  function readOnce(subject: SubjectRef, ageMaxMs: number): Promise<Outcome<T>> {
    const running = underWay.get(subject)
    if (!running) return startReading(subject)
    if (clock.now() - running.beganAt <= ageMaxMs) return running.ended
    running.next ??= running.answered.then(() => startReading(subject))
    return running.next
  }

  function startReading(subject: SubjectRef): Promise<Outcome<T>> {
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    const onAnswered = () => {
      if (underWay.get(subject) === reading) underWay.delete(subject)
      resolve()
    }
    const beganAt = clock.now()
    const ended = read(subject, onAnswered).finally(onAnswered)
    const reading: SharedReading<T> = { beganAt, answered, ended, next: undefined }
    underWay.set(subject, reading)
    return ended
  }

  return {
    read: subject => read(subject),
    readOnce,
    async refresh(subject, column, ageMaxMs, sharedMaxMs = 0) {
      const readAt = async () => (await rows.find('subjects', subject, streamOf('subject', subject)))?.[column] ?? null
      const last = await readAt()
      if (isFresh(last, ageMaxMs)) return last
      valueOf(await readOnce(subject, ageMaxMs ?? sharedMaxMs))
      return readAt()
    },
  }
}
