import type { Area } from './area.ts'
import type { Instant } from './message.ts'
import { type Ask, type Outcome, valueOf } from './outcome.ts'
import { unlessStopped } from './store/view-reader.ts'
import type { SubjectRef, Who } from './subjects.ts'

/** How fresh an answer must be: older than this, the service is read first. When absent, the view answers. */
export interface Fresh {
  readonly ageMaxMs?: number
}

/** What a reading of all consents of a data subject found. */
export interface Synced {
  readonly read: number
  /** How many events it made. */
  readonly changed: number
  /** Records that could not be read: kept, sealed, as they came. */
  readonly unreadable: number
}

/** Readings of the consents of data subjects. */
export interface ConsentReadings {
  sync(who: Who, ask?: Ask): Promise<Outcome<Synced>>
  /** Reads unless the last reading is fresh enough, and says when the last one was. */
  refresh(subject: SubjectRef, ageMaxMs: number | undefined): Promise<Instant | null>
  /**
   * Reads anew. Whoever asks while a reading of the subject is under way shares it where it began recently enough, and
   * else the one that comes right after it.
   */
  readOnce(subject: SubjectRef, ageMaxMs: number): Promise<Outcome<Synced>>
}

/** A reading under way, and the next one, for callers for whom the first began too early. */
interface Reading {
  readonly beganAt: number
  readonly ended: Promise<Outcome<Synced>>
  next: Promise<Outcome<Synced>> | undefined
}

/** Makes the readings that the area `consents` shares. */
export function createConsentReadings(area: Area): ConsentReadings {
  const { clock, commands, engine, rows, store, subjects, views } = area
  const underWay = new Map<SubjectRef, Reading>()

  async function sync(who: Who, ask: Ask = {}): Promise<Outcome<Synced>> {
    area.require('consentService')
    const subject = await subjects.find(who)
    return commands.send(
      { method: 'consents.sync', subject },
      async () => ({
        targets: [{ stream: `subject-${subject}`, message: { type: 'subject.sync', data: {} } }],
      }),
      ask,
      async ended => {
        await readChanged(subject)
        const { read, changed, unreadable } = ended.data as Synced // subject.synced says so.
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
      return type === 'consentService.readConsent' && opens?.cpf?.startsWith(`subject-${subject}/`)
    })
    return theirs.map(({ stream: consent }) => ({ consent }))
  }

  function readOnce(subject: SubjectRef, ageMaxMs: number): Promise<Outcome<Synced>> {
    const running = underWay.get(subject)
    if (!running) return begin(subject)
    if (clock.now() - running.beganAt <= ageMaxMs) return running.ended
    running.next ??= running.ended.catch(() => undefined).then(() => begin(subject))
    return running.next
  }

  function begin(subject: SubjectRef): Promise<Outcome<Synced>> {
    const ended = sync({ subject }).finally(() => {
      if (underWay.get(subject) === reading) underWay.delete(subject)
    })
    const reading: Reading = { beganAt: clock.now(), ended, next: undefined }
    underWay.set(subject, reading)
    return ended
  }

  async function readAt(subject: SubjectRef): Promise<Instant | null> {
    return (await rows.find('subjects', subject, `subject-${subject}`))?.synced_at ?? null
  }

  return {
    sync,
    readOnce,
    async refresh(subject, ageMaxMs) {
      const last = await readAt(subject)
      if (area.isFresh(last, ageMaxMs)) return last
      valueOf(await readOnce(subject, ageMaxMs ?? 0))
      return readAt(subject)
    },
  }
}
