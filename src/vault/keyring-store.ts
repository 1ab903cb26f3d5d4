import { systemClock, withinTime } from '../runtime/clock.ts'
import { errorName } from '../vocabulary/error-words.ts'
import { AverbaError, type ErrorCode, LateError } from '../vocabulary/errors.ts'

/**
 * Keeps the keyring of a log. It has the key to all personal data: keep it apart from the data, and from the copies of
 * the data, since what it no longer holds is erased.
 */
export interface KeyringStore {
  /** How errors name the place, such as a path. */
  readonly name: string
  /** Reads the keyring; `undefined` before the first. `tag` changes with every change, such as an ETag. */
  read(): Promise<KeyringText | undefined>
  /**
   * Stores a keyring in place of the one with the tag, or the first one without it: durable, and the former one gone,
   * when it resolves. False when another process was faster: then nothing is changed.
   */
  replace(text: string, ifTag: string | undefined): Promise<boolean>
}

/** A keyring as text, with its tag. */
export interface KeyringText {
  readonly text: string
  readonly tag: string
}

/** Keeps a keyring in memory, for a log in memory. */
export class KeyringInMemory implements KeyringStore {
  readonly name = ':memory:'
  #text: string | undefined

  constructor(text?: string) {
    this.#text = text
  }

  async read(): Promise<KeyringText | undefined> {
    return this.#text === undefined ? undefined : { text: this.#text, tag: this.#text }
  }

  async replace(text: string, ifTag: string | undefined): Promise<boolean> {
    if (this.#text !== ifTag) return false
    this.#text = text
    return true
  }
}

/** How long what a host has written for its keys may take, in real time. */
const hostMaxMs = 10_000

/** Asks a host for its keys. A failure of their service is none of ours, and one that hangs must hold up nothing. */
export async function askHost<T>(code: ErrorCode, ask: () => Promise<T>): Promise<T> {
  try {
    return await withinTime(systemClock, hostMaxMs, ask)
  } catch (cause) {
    if (cause instanceof AverbaError) throw cause
    if (cause instanceof LateError)
      throw new AverbaError(code, 'Cannot use the keys: their service did not answer in 10 seconds', { cause })
    throw new AverbaError(code, `Cannot use the keys: their service failed (${errorName(cause)})`, { cause })
  }
}

/** Guards against a keyring store of a host that hangs, fails, or does not say whether it has replaced. */
export function guardKeyring(kept: KeyringStore): KeyringStore {
  const { name } = kept
  return {
    name,
    read: () => askHost('STORE_UNSAFE', () => kept.read()),
    async replace(text, ifTag) {
      const isReplaced: unknown = await askHost('STORE_UNSAFE', () => kept.replace(text, ifTag))
      if (typeof isReplaced === 'boolean') return isReplaced
      throw notReplacedError(name)
    },
  }
}

export function notReplacedError(name: string): AverbaError {
  return new AverbaError('STORE_UNSAFE', `Cannot change the keyring "${name}": it was not replaced`, {
    hint: 'Let `replace` return true when it has replaced the keyring, and false when another change was faster',
  })
}
