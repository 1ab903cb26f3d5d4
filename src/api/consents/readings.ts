import { unlessStopped } from '../../store/views/view-reader.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { type CommandOptions, type Outcome, valueOf } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { defaultWaitMs } from '../commands.ts'
import type { SubjectRef, SubjectSelector } from '../subject-directory.ts'
import { DeferredReadings } from './deferred-readings.ts'
import { SharedReadings } from './shared-readings.ts'

/** How fresh an answer must be: older than this, the service is read first. When absent, the view answers. */
export interface FreshnessOptions {
  readonly ageMaxMs?: number
}

/** What a reading of all consents of a data subject found. */
export interface SyncResult {
  readonly read: number
  /** How many events it made. */
  readonly changed: number
  /** Records that could not be read: kept, sealed, as they came. */
  readonly unreadable: number
}

/** Readings of the consents of data subjects. */
export interface ConsentReadings {
  sync(selector: SubjectSelector, commandOptions?: CommandOptions): Promise<Outcome<SyncResult>>
  /** Reads unless the last reading is fresh enough, and says when the last one was. */
  refresh(subject: SubjectRef, ageMaxMs: number | undefined): Promise<Instant | null>
  /**
   * Reads anew, as `SharedReadings` does. What a list made necessary is read in full, and holds up nobody else.
   */
  readOnce(subject: SubjectRef, ageMaxMs: number): Promise<Outcome<SyncResult>>
}

/** Makes the readings that the area `consents` shares. */
export function createConsentReadings(context: ApiContext): ConsentReadings {
  const { clock, commands, engine, rows, store, subjects, views } = context
  const putOff = new DeferredReadings(store)
  const shared = new SharedReadings(clock, async (subject, onAnswered) => {
    const outcome = await sync({ subject }, {}, () => putOff.replaced(subject), onAnswered)
    putOff.note(subject, outcome)
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
        const { read, changed, unreadable } = ended.data as SyncResult // subject.synced says so.
        return { read, changed, unreadable }
      },
    )
  }

  /** Performs the readings in full that a list made necessary. What fails stays in the ledger. */
  async function readChanged(subject: SubjectRef): Promise<void> {
    const changed = views
      .selectFrom('consents')
      .select('consent')
      .where('subject', '=', subject)
      .where('knowledge', '=', 'changed')
      .execute()
    for (const { consent } of (await unlessStopped(changed)) ?? (await owingReadings(subject))) {
      const owed = await store.effects({ stream: consent, states: ['owed'] })
      for (const { id } of owed) await engine.perform(id)
    }
  }

  /**
   * The consents that owe a reading in full, by the ledger alone: it does not know whose they are but by what they
   * open.
   */
  async function owingReadings(subject: SubjectRef): Promise<{ consent: string }[]> {
    const owed = await store.effects({ states: ['owed'] })
    const theirs = owed.filter(({ type, opens }) => {
      return (
        type === 'consentService.readConsent' && opens?.cpf?.startsWith(`${streamOf('subject', subject)}/`)
      )
    })
    return theirs.map(({ stream: consent }) => ({ consent }))
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
