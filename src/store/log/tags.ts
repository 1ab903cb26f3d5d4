import type { Keyring } from '../../vault/keyring.ts'
import type { Instant } from '../../vocabulary/message.ts'

/** The end of a log: what the next append continues. */
export interface LogEnd {
  /** The position of the newest event, which is the number of events. */
  readonly position: number
  /** The time of the newest event; empty without one. */
  readonly at: Instant
  /** The highest number of a stream, and of an owner. */
  readonly stream: number
  readonly owner: number
}

/**
 * Makes the tags of a log: HMACs of 16 bytes under a key of its keyring. Somebody who can write the file but lacks the
 * keyring can make none, so what they write is refused. Tags do not depend on each other: processes and databases can
 * make them in any order.
 */
export class Tags {
  readonly #keyring: Pick<Keyring, 'tag'>

  constructor(keyring: Pick<Keyring, 'tag'>) {
    this.#keyring = keyring
  }

  /** The tag of an event, over its header, which has its position. A damaged page may give none. */
  ofEvent(header: string | null): string {
    return this.#keyring.tag(`${header}`)
  }

  /** The tag of the whole log: its end, and the root over its events in hexadecimal. */
  ofHead({ position, at, stream, owner }: LogEnd, root = ''): string {
    return this.#keyring.tag(`head\0${position}\0${at}\0${stream}\0${owner}\0${root}`)
  }

  /** The tag of a stream: its number, and the version of its last event. Without it, events could be moved away. */
  ofStream(name: string, key: number, version: number): string {
    return this.#keyring.tag(`stream\0${name}\0${key}\0${version}`)
  }

  /** The tag of a value in the keyed index, bound to the digest that it is found by. */
  ofEntry(kind: string, digest: Uint8Array, value: string): string {
    return this.#keyring.tag(`index\0${kind}\0${Buffer.from(digest).toString('hex')}\0${value}`)
  }
}
