import { cancelReason, systemClock } from '../../runtime/clock.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
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
    return isThenable(given) ? await awaitAtMost(Promise.resolve(given), `${prefix} did not answer`, maxMs) : given
  } catch (cause) {
    if (cause instanceof UnansweredError) throw new AverbaError('MISCONFIGURED', cause.message)
    const code = isFileError(cause) ? `: ${cause.code}` : ''
    throw new AverbaError('MISCONFIGURED', `${prefix} failed${code}`, { cause })
  }
}

/** Promises of other libraries and realms are not instances of our `Promise`. */
function isThenable<T>(given: T | PromiseLike<T>): given is PromiseLike<T> {
  return typeof given === 'object' && given !== null && 'then' in given && typeof given.then === 'function'
}

class UnansweredError extends Error {}

async function awaitAtMost<T>(given: Promise<T>, otherwise: string, maxMs: number): Promise<T> {
  const done = new AbortController()
  const late = systemClock.sleep(maxMs, done.signal).then(() => {
    throw new UnansweredError(`${otherwise} within ${maxMs / 1_000} seconds`)
  })
  try {
    return await Promise.race([given, late])
  } finally {
    late.catch(() => undefined)
    done.abort(cancelReason)
  }
}
