import { inspect } from 'node:util'
import { AverbaError } from '../../vocabulary/errors.ts'
import { type Source, valueFrom } from './source.ts'

const placeholder = '[secret]'

/**
 * A secret that prints as `[secret]`: as text, as JSON, in a console and in a debugger. Options that take a secret
 * accept it.
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

  /** Returns the secret itself. Do not keep it. */
  expose(): string {
    return this.#value
  }

  toString(): string {
    return placeholder
  }

  toJSON(): string {
    return placeholder
  }

  [Symbol.toPrimitive](): string {
    return placeholder
  }

  [inspect.custom](): string {
    return placeholder
  }

  /** Deno's inspection ignores `inspect.custom`. */
  [Symbol.for('Deno.customInspect')](): string {
    return placeholder
  }
}

/** A secret as text or as a `Secret`, or a function that returns it and is called again on rotation. */
export type SecretSource = Source<string | Secret>

/**
 * Returns the secret of a source.
 * @throws {AverbaError} `MISCONFIGURED` as `valueFrom` does, and if the secret is empty or not a text
 */
export async function secretFrom(source: SecretSource, what: string): Promise<string> {
  const value: unknown = await valueFrom(source, what) // A host may give anything.
  const text = value instanceof Secret ? value.expose() : value
  if (typeof text === 'string' && text !== '') return text
  throw new AverbaError('MISCONFIGURED', `Cannot use the ${what}: it is empty or not a text`, {
    hint: 'Check where it is read from, such as a variable that is not set',
  })
}
