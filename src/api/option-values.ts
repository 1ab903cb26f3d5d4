import { z } from 'zod'
import { Secret, type SecretSource } from '../adapters/credentials/secret.ts'
import { holdsCredentials } from '../adapters/portal/protocol.ts'
import { AverbaError } from '../vocabulary/errors.ts'

/** The schema of values that a predicate accepts. The error says why others are refused, and the hint what to give. */
export function accepted<T>(accepts: (value: unknown) => boolean, error: string, hint?: string): z.ZodType<T, T> {
  return z.custom<T>(accepts, withHint(error, hint))
}

/** The parameters of a zod check that has a hint. */
export function withHint(error: string, hint: string | undefined) {
  return { error, params: { hint } }
}

/** The schema of values for which a check does not throw. Its error becomes the error of the options. */
export function checked<T>(check: (value: T) => void): z.ZodType<T, T> {
  return z.custom<T>().superRefine(refuseBy(check))
}

/** Refuses what a check of averba refuses, with its error. */
export function refuseBy<T>(check: (value: T) => void) {
  return (value: T, context: z.RefinementCtx<T>): void => {
    try {
      check(value)
    } catch (error) {
      const params = error instanceof AverbaError ? { error } : {}
      context.addIssue({ code: 'custom', message: 'it has another form', params, continue: false })
    }
  }
}

const missingText = 'it is missing, empty, or not a text'
const missingTextHint = 'Check where it comes from: an environment variable may be unset'

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

/** A text that is not empty. */
export const text = accepted<string>(isText, missingText, missingTextHint)

/** A secret. A function is called only when the secret is needed. */
export const secret = accepted<SecretSource>(
  source => typeof source === 'function' || isText(source instanceof Secret ? source.expose() : source),
  missingText,
  missingTextHint,
)

/** An https address without credentials. */
export const httpsAddress = text
  .refine(address => URL.parse(address)?.protocol === 'https:', { error: 'it is not an https address', abort: true })
  .refine(address => !holdsCredentials(address), 'it contains a user name or a password')

/** An https address that paths are appended to. */
export const baseAddress = httpsAddress.refine(
  address => !/[?#]/.test(address),
  'it contains ? or #, and paths are appended to it',
)

/** PEM text, or the bytes of a PEM file. */
export const pem = accepted<string>(value => isText(value) || value instanceof Uint8Array, 'it is not PEM text')

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): z.ZodType<number, number> {
  const bounds = max === Number.MAX_SAFE_INTEGER ? `, ${min} or more` : ` from ${min} to ${max}`
  const error = `it is not a whole number${bounds}`
  return z.int(error).min(min, error).max(max, error)
}

/** A list of some of the known words. */
export function listOf<const T extends string>(
  known: readonly T[],
  what: string,
): z.ZodType<readonly T[], readonly T[]> {
  const isKnown = (each: unknown) => known.some(word => word === each)
  return accepted(
    value => Array.isArray(value) && value.every(isKnown),
    `it is not a list of ${what}`,
    `Use any of ${known.join(', ')}`,
  )
}

/** A function of the host. */
export function hostFunction<T>(): z.ZodType<T, T> {
  return accepted(value => typeof value === 'function', 'it is not a function')
}

/** An object of the host with some functions. */
export function withFunctions<T>(...names: (keyof T & string)[]): z.ZodType<T, T> {
  const isComplete = (value: unknown) => names.every(name => typeof Object(value)[name] === 'function')
  return accepted(isComplete, `it is not an object with ${names.join(', ')}`)
}
