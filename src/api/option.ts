import { z } from 'zod'
import { Secret, type SecretSource } from '../adapters/credentials/secret.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { holdsCredentials, parseHttpsAddress } from '../vocabulary/https-address.ts'

/** What `averba init` writes of an option in its configuration. */
interface Sample {
  /** An example of the value, as TypeScript. A group has none: its options are written. */
  readonly value?: string | undefined
  /** Whether the option is in use, and not behind `//`. */
  readonly isShown: boolean
}

const samples = z.registry<Sample>()

const classes = z.registry<{ readonly Options: new () => object }>()

/**
 * Declares an option as a field of a class: the field's value is the schema, and its type is that of the values that
 * the schema accepts. So editors and declaration files show a plain type and the field's doc comment, which they lose
 * with `z.input` of a nested object.
 */
export function required<T>(schema: z.ZodType<T>, value: string): T {
  return declare(schema.clone(), { value, isShown: true })
}

/** Declares an option that a host may leave out, or give as `undefined`. Its field has a `?`. */
export function optional<T>(schema: z.ZodType<T>, value?: string): T {
  return declare(schema.optional(), { value, isShown: value === undefined })
}

/** Declares an optional option that `averba init` writes as one in use. */
export function shown<T>(schema: z.ZodType<T>, value: string): T {
  return declare(schema.optional(), { value, isShown: true })
}

function declare<T>(schema: z.ZodType, sample: Sample): T {
  samples.add(schema, sample)
  return schema as never // Only `group` makes such objects, and it reads their fields as schemas.
}

/** The schema of an object that has the options which a class declares, and no others. */
export function group<T extends object>(Options: new () => T): z.ZodType<T, T> {
  const schema = z.strictObject(Object.fromEntries(Object.entries(new Options())), 'it is not an object')
  classes.add(schema, { Options })
  return schema as unknown as z.ZodType<T, T> // `declare` gave the fields these types, and put schemas into them.
}

export interface ListedOption extends Sample {
  readonly name: string
  /** Its doc comment, as one line. */
  readonly comment: string
  readonly isOptional: boolean
  readonly isList: boolean
  /** The options inside it, when it is a group or a list of groups. */
  readonly options: readonly ListedOption[]
}

/** Lists the options of a group, or of a list of groups: the required ones first. */
export function listOptions(schema: z.core.$ZodType): ListedOption[] {
  const inner = schema instanceof z.ZodArray ? schema.element : schema
  if (!(inner instanceof z.ZodObject)) return []
  const comments = docComments(classes.get(inner)?.Options)
  const listed = Object.entries<z.core.$ZodType>(inner.shape).map(([name, field]) => {
    const isOptional = field instanceof z.ZodOptional
    const value = isOptional ? field.unwrap() : field
    const { isShown = true, value: example } = samples.get(field) ?? {}
    // An example shows a group in short.
    const options = example === undefined ? listOptions(value) : []
    const inside = { isList: value instanceof z.ZodArray, options }
    return { name, comment: comments.get(name) ?? '', isOptional, isShown, value: example, ...inside }
  })
  return listed.toSorted((a, b) => Number(a.isOptional) - Number(b.isOptional))
}

const commentedField = /\/\*\*((?:(?!\*\/).)*)\*\/\s+['"]?([\w.]+)['"]?\s*=/gs

/** The doc comments of a class by field, from the text of the class; none where a bundler has removed them. */
function docComments(Options: unknown): Map<string, string> {
  if (typeof Options !== 'function' || Options === Function.prototype) return new Map()
  const comments = docComments(Object.getPrototypeOf(Options))
  for (const [, comment = '', name = ''] of String(Options).matchAll(commentedField))
    comments.set(name, comment.replace(/\s+(?:\*\s)?/g, ' ').trim())
  return comments
}

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

export const httpsAddress = text
  .refine(address => !holdsCredentials(address), { error: 'it contains a user name or a password', abort: true })
  .refine(address => parseHttpsAddress(address) !== undefined, 'it is not an https address')

export const baseAddress = httpsAddress.refine(
  address => !/[?#]/.test(address),
  'it contains ? or #, and paths are appended to it',
)

/** The address of the consent service, whose paths begin with `/consentimento` (document 1, section 1). */
export const consentAddress = baseAddress.refine(
  address => !/\/consentimento(\/v1)?\/*$/.test(address),
  'it ends with /consentimento, which averba appends',
)

export const pem = accepted<string>(value => isText(value) || value instanceof Uint8Array, 'it is not PEM text')

export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): z.ZodType<number, number> {
  const isOpen = max === Number.MAX_SAFE_INTEGER
  const error = isOpen ? `it is not a whole number, ${min} or more` : `it is not a whole number from ${min} to ${max}`
  return z.int(error).min(min, error).max(max, error)
}

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

export function hostFunction<T>(): z.ZodType<T, T> {
  return accepted(value => typeof value === 'function', 'it is not a function')
}

export function withFunctions<T>(...names: (keyof T & string)[]): z.ZodType<T, T> {
  const isComplete = (value: unknown) => names.every(name => typeof Object(value)[name] === 'function')
  return accepted(isComplete, `it is not an object with ${names.join(', ')}`)
}
