import type { Clock } from '../../runtime/clock.ts'
import type { SubjectRef } from '../subject-directory.ts'

/** A reading under way, and the one that follows for those for whom it began too early. */
interface SharedReading<T> {
  readonly beganAt: number
  /** The service has answered, or will not. */
  readonly answered: Promise<void>
  readonly ended: Promise<T>
  next: Promise<T> | undefined
}

/** Reads a subject. What is left to do after `onAnswered` keeps nobody from the next reading. */
export type ReadSubject<T> = (subject: SubjectRef, onAnswered: () => void) => Promise<T>

/** Readings of data subjects that those who ask at once share. */
export class SharedReadings<T> {
  readonly #clock: Clock
  readonly #read: ReadSubject<T>
  readonly #underWay = new Map<SubjectRef, SharedReading<T>>()

  constructor(clock: Clock, read: ReadSubject<T>) {
    this.#clock = clock
    this.#read = read
  }

  /**
   * Reads anew. Whoever asks while a reading of the subject is under way shares it where it began recently enough, and
   * else the one that comes right after it: an answer on its way tells nothing of what happened since its request.
   */
  readOnce(subject: SubjectRef, ageMaxMs: number): Promise<T> {
    const running = this.#underWay.get(subject)
    if (!running) return this.#begin(subject)
    if (this.#clock.now() - running.beganAt <= ageMaxMs) return running.ended
    running.next ??= running.answered.then(() => this.#begin(subject))
    return running.next
  }

  #begin(subject: SubjectRef): Promise<T> {
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
