import type { Clock } from '../../runtime/clock.ts'
import type { SubjectRef } from '../subject-directory.ts'

/** A reading under way, and the one that follows it for callers who need a newer one. */
interface SharedReading<T> {
  readonly beganAt: number
  /** Resolved once the service has answered or the reading has failed. */
  readonly answered: Promise<void>
  readonly ended: Promise<T>
  next: Promise<T> | undefined
}

/** Reads a subject. After `onAnswered`, the next reading may begin while this one finishes. */
export type ReadSubject<T> = (subject: SubjectRef, onAnswered: () => void) => Promise<T>

/** Readings of data subjects, shared by concurrent callers. */
export class SharedReadings<T> {
  readonly #clock: Clock
  readonly #read: ReadSubject<T>
  readonly #underWay = new Map<SubjectRef, SharedReading<T>>()

  constructor(clock: Clock, read: ReadSubject<T>) {
    this.#clock = clock
    this.#read = read
  }

  /**
   * Reads again. A caller shares the reading under way if that began recently enough, else the next one: an answer on
   * its way does not show what happened after its request.
   */
  readOnce(subject: SubjectRef, ageMaxMs: number): Promise<T> {
    const running = this.#underWay.get(subject)
    if (!running) return this.#startReading(subject)
    if (this.#clock.now() - running.beganAt <= ageMaxMs) return running.ended
    running.next ??= running.answered.then(() => this.#startReading(subject))
    return running.next
  }

  #startReading(subject: SubjectRef): Promise<T> {
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    const onAnswered = () => {
      if (this.#underWay.get(subject) === reading) this.#underWay.delete(subject)
      resolve()
    }
    const beganAt = this.#clock.now()
    const ended = this.#read(subject, onAnswered).finally(onAnswered)
    const reading: SharedReading<T> = { beganAt, answered, ended, next: undefined }
    this.#underWay.set(subject, reading)
    return ended
  }
}
