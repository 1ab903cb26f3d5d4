import { inspect } from 'node:util'
import { systemClock, withinTime } from '../../runtime/clock.ts'
import { AverbaError, LateError } from '../../vocabulary/errors.ts'
import { isFileError } from '../../vocabulary/file-errors.ts'

/** A value, or a function that returns it and is called again on rotation: vaults need no restart. */
export type Source<T> = T | (() => T | Promise<T>)

/** How long a function may take, in real time. */
const sourceMaxMs = 10_000

/**
 * Returns the value of a source.
 * @throws {AverbaError} `MISCONFIGURED` when the function fails or does not answer in time, with the code of a file
 * error only: the function's own message may quote a secret
 */
export async function valueFrom<T>(source: Source<T>, what: string, maxMs = sourceMaxMs): Promise<T> {
  if (typeof source !== 'function') return source
  const prefix = `Cannot get the ${what}: the function that gives it`
  try {
    const given = (source as () => T | PromiseLike<T>)() // A function is never a value here.
    return isThenable(given) ? await withinTime(systemClock, maxMs, async () => given) : given
  } catch (cause) {
    if (cause instanceof LateError)
      throw new AverbaError('MISCONFIGURED', `${prefix} did not answer within ${maxMs / 1_000} seconds`)
    const code = isFileError(cause) ? `: ${cause.code}` : ''
    throw new AverbaError('MISCONFIGURED', `${prefix} failed${code}`, { cause })
  }
}

/** Promises of other libraries and realms are not instances of our `Promise`. */
function isThenable<T>(given: T | PromiseLike<T>): given is PromiseLike<T> {
  return typeof given === 'object' && given !== null && 'then' in given && typeof given.then === 'function'
}

const placeholder = '[secret]'

/**
 * A secret that prints as `[secret]`: as text, JSON, in a console, in a debugger. Options that take a secret accept it.
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
