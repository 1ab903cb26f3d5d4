import { z } from 'zod'

/** What `averba init` writes of an option in its configuration. */
interface Sample {
  /** An example of the value, as TypeScript. A group has none: its options are written. */
  readonly value?: string | undefined
  /** Whether the option is in use, and not behind `//`. */
  readonly isShown: boolean
}

const samples = z.registry<Sample>()

/** The class of each group, for the doc comments of its fields. */
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

/** One option of a group. */
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
    const { isShown = true, ...sample } = samples.get(field) ?? {}
    const inside = { isList: value instanceof z.ZodArray, options: listOptions(value) }
    return { name, comment: comments.get(name) ?? '', isOptional, isShown, ...sample, ...inside }
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
