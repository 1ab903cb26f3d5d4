import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { GenerationalCache } from '../../runtime/generational-cache.ts'
import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import { lastListOf, type SubjectRow } from '../../views/subjects.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { type CommandOptions, type Outcome, valueOf } from '../../vocabulary/outcome.ts'
import { parseCnpj } from '../../vocabulary/tax-numbers.ts'
import type { ApiContext } from '../api-context.ts'
import { defaultWaitMs } from '../commands.ts'
import { ofType } from '../events.ts'
import type { SubjectRef, SubjectSelector } from '../subject-directory.ts'

/**
 * How fresh an answer must be, in ms: after an older reading, the service is read first. Without it, the view answers,
 * except for the state of a login, which is always read.
 */
export interface FreshnessOptions {
  readonly ageMaxMs?: number
}

/** What a reading of all consents of a data subject found. */
export interface SyncResult {
  readonly read: number
  /** Of how many consents it recorded something. */
  readonly changed: number
  /** Records that could not be read. They are sealed and kept as the service sent them. */
  readonly unreadable: number
}

/** Whose consents are read. */
export type SyncSelector = SubjectSelector & {
  /** The CNPJ of the only controller whose consents are read. A list of them says nothing of the others. */
  readonly cnpj?: string
}

export type ConsentReadings = ReturnType<typeof createConsentReadings>

/** The readings that the `consents` area shares. Those in full that a list requires delay no caller. */
export function createConsentReadings(context: ApiContext) {
  const { clock, commands, engine, store, subjects, views } = context
  const { beginLook, readOnce, refresh } = createSubjectReadings(
    context,
    { type: 'subject.sync', lists: row => row.consent_lists },
    ({ subject }, createRequest, onAnswered) => sync({ subject }, {}, createRequest, onAnswered),
  )

  /** Reads the list, and then in full what it requires. */
  async function sync(
    selector: SyncSelector,
    commandOptions: CommandOptions = {},
    createRequest?: () => Promise<DecisionRequest>,
    onAnswered?: () => void,
  ): Promise<Outcome<SyncResult>> {
    context.require('consentService')
    const until = clock.now() + (commandOptions.waitMs ?? defaultWaitMs)
    const subject = await subjects.find(selector, 'cnpj')
    const controller = selector.cnpj !== undefined && { controller: parseCnpj(selector.cnpj) }
    return commands.send(
      { method: 'consents.sync', subject, ...controller },
      createRequest ?? (async () => requestReading('subject.sync', { subject, ...controller })),
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
    const types = ['consentService.readConsent']
    const pending = await store.effects({ states: ['pending'], types, withDamaged: true })
    const cpfOfSubject = `${streamOf('subject', subject)}/`
    return pending
      .filter(({ opens }) => opens?.cpf?.startsWith(cpfOfSubject))
      .map(({ stream: consent }) => ({ consent }))
  }

  return {
    beginLook,
    readOnce,
    sync: (selector: SyncSelector, commandOptions?: CommandOptions) => sync(selector, commandOptions),
    refresh,
  }
}

/** When the last list was requested that covers the records of a controller, or of all with null. */
export type ReadAt = (controller: string | null) => Instant | null

/** Beyond that many data subjects, one reading too many may be made. */
const subjectsMax = 10_000

type ReadingType = 'subject.sync' | 'subject.readAwareness' | 'subject.readLogin'

/** What is read: the records of a data subject, of all controllers or of one. */
interface Wanted {
  readonly subject: SubjectRef
  readonly controller?: string | undefined
}

function requestReading(
  type: ReadingType,
  { subject, controller }: Wanted,
  effects: readonly string[] = [],
): DecisionRequest {
  const data = { ...(controller !== undefined && { controller }), ...(effects.length > 0 && { effects }) }
  return { targets: [{ stream: streamOf('subject', subject), message: { type, data } }] }
}

/** A reading, and the one that follows it for callers who need a newer one. */
interface SharedReading<T> {
  readonly beganAt: number
  /** Resolved once the answer of the service is recorded or the reading has failed. */
  readonly answered: Promise<void>
  readonly ended: Promise<Outcome<T>>
  next: Promise<Outcome<T>> | undefined
  /** Its number among the answered readings; infinite until it is answered. */
  answer: number
}

/**
 * Creates the readings of one kind, by data subject and controller. Nobody comes back for the outcome of a deferred
 * one: a new reading replaces it, so that an outage does not collect one per question. The oldest stays, to be parked.
 *
 * @param send requests a reading; after `onAnswered`, the next one may begin while this one finishes
 */
export function createSubjectReadings<T>(
  context: ApiContext,
  { type, lists = () => '{}' }: { readonly type: ReadingType; readonly lists?: (row: SubjectRow) => string },
  send: (wanted: Wanted, createRequest: () => Promise<DecisionRequest>, onAnswered: () => void) => Promise<Outcome<T>>,
) {
  const { clock, isFresh, options, rows, store } = context
  const deferred = new GenerationalCache<string, readonly string[]>(subjectsMax)
  const shared = new GenerationalCache<string, SharedReading<T>>(subjectsMax)
  let newestAnswer = 0
  const keyOf = ({ subject, controller = '' }: Wanted) => `${subject} ${controller}`

  async function read(wanted: Wanted, onAnswered: () => void = () => undefined): Promise<Outcome<T>> {
    context.require('consentService')
    const key = keyOf(wanted)
    const createRequest = async () => requestReading(type, wanted, await findReplaced(key))
    const outcome = await send(wanted, createRequest, onAnswered)
    if (outcome.status === 'deferred') deferred.set(key, [...(deferred.get(key) ?? []), outcome.effect])
    return outcome
  }

  /** Finds the deferred readings that a new one replaces: all but the oldest. */
  async function findReplaced(key: string): Promise<readonly string[]> {
    const remembered = deferred.get(key) ?? []
    const known = await Promise.all(remembered.map(id => store.effect(id)))
    const left = remembered.filter((_, n) => known[n]?.state === 'deferred')
    if (remembered.length > 0) deferred.set(key, left)
    return left.slice(1)
  }

  /** Marks when a caller begins to look whether the last reading is fresh enough. */
  function beginLook(): number {
    return newestAnswer
  }

  /**
   * Reads again what covers the records of a controller. A caller shares the reading that is under way, or was when the
   * look began, if that began recently enough. Else it shares the next one: an answer on its way does not show what
   * happened after its request.
   */
  function readOnce(
    subject: SubjectRef,
    ageMaxMs: number,
    controller?: string,
    lookedSince = beginLook(),
  ): Promise<Outcome<T>> {
    // A host that reads for one controller only never asks for all.
    const limit = options.consentService?.cnpj
    const wanted = { subject, controller: limit === undefined ? undefined : (controller ?? limit) }
    const running = shared.get(keyOf(wanted))
    if (!running || running.answer <= lookedSince) return startReading(wanted)
    if (isFresh(toInstant(running.beganAt), ageMaxMs)) return running.ended
    running.next ??= running.answered.then(() => startReading(wanted))
    return running.next
  }

  function startReading(wanted: Wanted): Promise<Outcome<T>> {
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    const onAnswered = () => {
      if (reading.answer === Number.POSITIVE_INFINITY) reading.answer = ++newestAnswer
      resolve()
    }
    const ended = read(wanted, onAnswered).finally(onAnswered)
    const reading: SharedReading<T> = {
      beganAt: clock.now(),
      answered,
      ended,
      next: undefined,
      answer: Number.POSITIVE_INFINITY,
    }
    shared.set(keyOf(wanted), reading)
    return ended
  }

  /** Reads unless the last reading of a controller's records is fresh enough. Returns when the last one was. */
  async function refresh(
    subject: SubjectRef,
    ageMaxMs: number | undefined,
    cnpj: string | undefined = options.consentService?.cnpj,
  ): Promise<ReadAt> {
    const find = async (): Promise<ReadAt> => {
      const row = await rows.find('subjects', subject, streamOf('subject', subject))
      return controller => (row ? lastListOf(lists(row), controller) : null)
    }
    const lookedSince = beginLook()
    const last = await find()
    if (isFresh(last(cnpj ?? null), ageMaxMs)) return last
    valueOf(await readOnce(subject, ageMaxMs ?? Number.POSITIVE_INFINITY, cnpj, lookedSince))
    return find()
  }

  return { read, beginLook, readOnce, refresh }
}
