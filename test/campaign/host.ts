import type { Averba } from '../../src/averba/averba.ts'
import { AverbaError, type ErrorCode } from '../../src/vocabulary/errors.ts'
import type { Box } from './box.ts'
import type { Life } from './life.ts'
import { eventos } from './people.ts'

/** How long a host takes to start the engine again. */
const downMs = 20_000
/** How often a host repeats what the engine died of. */
const repeatsMax = 4

/** What becomes of what is asked of somebody who was erased. */
const ofErased: ReadonlySet<ErrorCode> = new Set(['SUBJECT_ERASED', 'COMMAND_REUSED', 'PART_DESTROYED'])

/** The types of events that the host follows. */
export const followed = ['consent.revoked', 'consent.appeared', 'validation.answered'] as const

/** What an ask came to: a value, an error that was to be expected, or nothing at all. */
export type Asked<T> = { readonly value: T } | { readonly code: ErrorCode } | undefined

/** The application that embeds the engine: it asks, follows, handles, and starts the engine again when it died. */
export class Host {
  readonly #box: Box
  /** How many of the next calls of a follower or a handler fail. */
  failing = { follower: 0, handler: 0 }

  constructor(box: Box) {
    this.#box = box
  }

  /** Asks the engine for something; asks again under the same command id where it died of it. */
  async ask<T>(work: (averba: Averba) => Promise<T>, expected: readonly ErrorCode[] = []): Promise<Asked<T>> {
    const box = this.#box
    for (let repeats = 0; repeats < repeatsMax; repeats++) {
      await box.open()
      const wasFull = box.disk.isFull
      try {
        const done = await box.drive(() => work(box.averba))
        if (done || box.isAlive) return done
      } catch (error) {
        return { code: this.#expect(error, expected, wasFull) }
      }
      await box.passUntil(box.clock.now() + downMs)
    }
    return undefined
  }

  /** Registers what follows the log, in a life that has just begun. */
  attend(life: Life): void {
    const { averba } = life
    const { book } = this.#box
    averba.log.follow('livro', followed, event =>
      life.inside('follower.before', 'follower.after', async () => {
        book.tell('followed', 'livro', event, false)
        this.#fail('follower')
        book.tell('followed', 'livro', event, true)
      }),
    )
    for (const evento of eventos) {
      averba.notifications.handle(evento, 'caixa', notification =>
        life.inside('handler.before', 'handler.after', async () => {
          this.#fail('handler')
          // Null when the person it was for was erased.
          const body = notification.body as { numero: string } | null // As the portal of this run makes them.
          if (body) book.tell('handled', body.numero)
        }),
      )
    }
  }

  #fail(who: 'follower' | 'handler'): void {
    if (this.failing[who] === 0) return
    this.failing[who] -= 1
    this.#box.book.reach(`${who} failed`)
    throw new RangeError('The host cannot do this now')
  }

  /** What failed on a full disk may be told once the disk has room again: the rest is done first. */
  #expect(error: unknown, expected: readonly ErrorCode[], wasFull: boolean): ErrorCode {
    const box = this.#box
    const { book, disk } = box
    book.tell('failed', error)
    if (!(error instanceof AverbaError)) throw error
    const { code } = error
    if ((wasFull || disk.isFull) && code === 'STORE_UNSAFE') return code
    // Who was erased is somebody new when met again: the same words are another command then.
    const isOfErased = box.erased.size > 0 && ofErased.has(code)
    if (!expected.includes(code) && !isOfErased) throw error
    book.trace(`  ${book.doing}: ${code}`)
    return code
  }
}
