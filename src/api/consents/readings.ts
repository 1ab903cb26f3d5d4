import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { type CommandOptions, type Outcome, valueOf } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { defaultWaitMs } from '../commands.ts'
import type { SubjectRef, SubjectSelector } from '../subject-directory.ts'
import { DeferredReadings } from './deferred-readings.ts'
import { SharedReadings } from './shared-readings.ts'

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
  /** Reads again, as `SharedReadings` does. The readings in full that the list requires do not delay other callers. */
  readOnce(subject: SubjectRef, ageMaxMs: number): Promise<Outcome<SyncResult>>
}

/** Creates the readings that the `consents` area shares. */
export function createConsentReadings(context: ApiContext): ConsentReadings {
  const { clock, commands, engine, rows, store, subjects, views } = context
  const deferredReadings = new DeferredReadings(store)
  const shared = new SharedReadings(clock, async (subject, onAnswered) => {
    const outcome = await sync({ subject }, {}, () => deferredReadings.findReplaced(subject), onAnswered)
    deferredReadings.noteOutcome(subject, outcome)
    return outcome
  })

  async function sync(
    selector: SubjectSelector,
    commandOptions: CommandOptions = {},
    replaced = async () => ({}),
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
        await commands.wait(readChanged(subject), {
          ...commandOptions,
          waitMs: Math.max(0, until - clock.now()),
        })
        const { read, changed, unreadable } = ended.data as SyncResult // As in subject.synced.
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
      .where('knowledge', '=', 'changed')
      .execute()
    for (const { consent } of (await undefinedIfStopped(changed)) ?? (await findPendingReadings(subject))) {
      const pending = await store.effects({ stream: consent, states: ['pending'] })
      for (const { id } of pending) await engine.perform(id)
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

  async function readAt(subject: SubjectRef): Promise<Instant | null> {
    return (await rows.find('subjects', subject, streamOf('subject', subject)))?.synced_at ?? null
  }

  return {
    sync: (selector, commandOptions) => sync(selector, commandOptions),
    readOnce: (subject, ageMaxMs) => shared.readOnce(subject, ageMaxMs),
    async refresh(subject, ageMaxMs) {
      const last = await readAt(subject)
      if (context.isFresh(last, ageMaxMs)) return last
      valueOf(await shared.readOnce(subject, ageMaxMs ?? 0))
      return readAt(subject)
    },
  }
}
