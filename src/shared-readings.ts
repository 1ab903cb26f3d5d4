import type { Clock } from './clock.ts'
import type { SubjectRef } from './subjects.ts'

/** A reading under way, and the one that follows for those for whom it began too early. */
interface Reading<T> {
  readonly beganAt: number
  readonly ended: Promise<T>
  next: Promise<T> | undefined
}

/** Readings of data subjects that those who ask at once share. */
export class SharedReadings<T> {
  readonly #clock: Clock
  readonly #read: (subject: SubjectRef) => Promise<T>
  readonly #underWay = new Map<SubjectRef, Reading<T>>()

  constructor(clock: Clock, read: (subject: SubjectRef) => Promise<T>) {
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
    running.next ??= running.ended.catch(() => undefined).then(() => this.#begin(subject))
    return running.next
  }

  #begin(subject: SubjectRef): Promise<T> {
    const ended = this.#read(subject).finally(() => {
      if (this.#underWay.get(subject) === reading) this.#underWay.delete(subject)
    })
    const reading: Reading<T> = { beganAt: this.#clock.now(), ended, next: undefined }
    this.#underWay.set(subject, reading)
    return ended
  }
}
