import { AverbaError } from '../errors.ts'

/** A value, or a function that is asked for it again on rotation: vaults need no restart. */
export type Source<T> = T | (() => T | Promise<T>)

/**
 * Asks a source for its value.
 *
 * @throws {AverbaError} `MISCONFIGURED` when the function fails, with the code of its error: its message may
 * quote a secret, and stays in `cause`
 */
export async function valueFrom<T>(source: Source<T>, what: string): Promise<T> {
  if (typeof source !== 'function') return source
  try {
    return await (source as () => T | Promise<T>)() // A function is never a value here.
  } catch (cause) {
    throw new AverbaError('MISCONFIGURED', `Cannot get the ${what}: the function that gives it failed`, {
      cause,
    })
  }
}
