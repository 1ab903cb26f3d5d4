import { inspect } from 'node:util'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type Source, valueFrom } from './source.ts'

/** Shown in place of a secret. */
const shown = '[secret]'

/**
 * A secret that cannot be printed: as text, in a template, as JSON, in a console or a debugger's inspection there is
 * only `[secret]`. Where an option takes a secret it may be given as one, and only what needs the value itself reads
 * it.
 *
 * @example
 * ```ts
 * const consumerSecret = new Secret(await vault.read('consumer-secret'))
 * console.log({ consumerSecret }) // { consumerSecret: [secret] }
 * ```
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The secret itself. Keep its use short. */
  expose(): string {
    return this.#value
  }

  toString(): string {
    return shown
  }

  toJSON(): string {
    return shown
  }

  [Symbol.toPrimitive](): string {
    return shown
  }

  [inspect.custom](): string {
    return shown
  }

  /** What Deno's inspection shows: `inspect.custom` does not cover it. */
  [Symbol.for('Deno.customInspect')](): string {
    return shown
  }
}

/** A secret as a host gives it, plainly or as a `Secret`, or a function that is asked for it again on rotation. */
export type SecretSource = Source<string | Secret>

/**
 * Asks a source for its secret.
 *
 * @throws {AverbaError} `MISCONFIGURED` as `valueFrom` does, and for what is empty or not a text
 */
export async function secretFrom(source: SecretSource, what: string): Promise<string> {
  const value: unknown = await valueFrom(source, what) // A host may give anything.
  const text = value instanceof Secret ? value.expose() : value
  if (typeof text === 'string' && text !== '') return text
  throw new AverbaError('MISCONFIGURED', `Cannot use the ${what}: it is empty, or not a text`, {
    hint: 'Look at where it is read: a variable that is not set gives nothing',
  })
}
