/**
 * What averba tells its logger. These fields and no others: none of them can hold personal data or a secret. A type and
 * not an interface, so that a logger that takes any record takes it as well.
 */
export type LogLine = {
  /** What happened, in fixed words. */
  readonly message: string
  /** The code or the name of an error, never its message. */
  readonly error?: string
  /** More in words of our own. */
  readonly detail?: string
  /** The path of a file that was made. */
  readonly path?: string
  readonly view?: string
  readonly follower?: string
  readonly handler?: string
  readonly evento?: string
  /** The id of a notification. */
  readonly notification?: string
  /** Which attempt of a handler it was, counted from 1. */
  readonly attempt?: number
  /** Where an event stands in the log. */
  readonly position?: number
  /** The HTTP status of an answer of ours. */
  readonly status?: number
  readonly daysLeft?: number
  /** How often it has happened since it was last told, where that is more than once. */
  readonly times?: number
  /** Where a server of ours listens. */
  readonly host?: string
  readonly port?: number
  /** The signal that ends the process. */
  readonly signal?: string
}

const fields: Readonly<Record<keyof LogLine, 'string' | 'number'>> = {
  message: 'string',
  error: 'string',
  detail: 'string',
  path: 'string',
  view: 'string',
  follower: 'string',
  handler: 'string',
  evento: 'string',
  notification: 'string',
  attempt: 'number',
  position: 'number',
  status: 'number',
  daysLeft: 'number',
  times: 'number',
  host: 'string',
  port: 'number',
  signal: 'string',
}

const textMax = 500

/** The line with the fields of the list alone, each of its kind and bounded: whatever else it was given stays here. */
export function onlyAllowed(line: LogLine): LogLine {
  const given: Readonly<Record<string, unknown>> = line
  const kept: Record<string, unknown> = {}
  for (const [name, kind] of Object.entries(fields)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (typeof value === kind) kept[name] = typeof value === 'string' ? value.slice(0, textMax) : value
  }
  return { ...kept, message: String(line.message).slice(0, textMax) }
}
