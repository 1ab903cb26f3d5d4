/** The fields of a line and their types. None can hold personal data or a secret. */
const fields = {
  /** The code or the name of an error, never its message. */
  error: 'string',
  /** Details in averba's own words. */
  detail: 'string',
  path: 'string',
  view: 'string',
  follower: 'string',
  handler: 'string',
  evento: 'string',
  notification: 'string',
  /** The number of a handler's attempt, from 1. */
  attempt: 'number',
  position: 'number',
  /** The HTTP status that averba answered. */
  status: 'number',
  daysLeft: 'number',
  /** How often it has happened since its last line, when more than once. */
  times: 'number',
  /** The address that a server of averba listens on. */
  host: 'string',
  port: 'number',
  signal: 'string',
} as const

/**
 * A line for the host's logger. It has these fields only: none can hold personal data or a secret. It is a type and not
 * an interface, so that a logger for any record accepts it.
 */
export type LogLine = { readonly level: LogLevel; readonly message: string } & {
  readonly [F in keyof typeof fields]?: (typeof fields)[F] extends 'string' ? string : number
}

/** `error`: averba does not do its work; `warn`: it goes on, and somebody has to look; `info`: for the record. */
export type LogLevel = (typeof levels)[number]

const levels = ['info', 'warn', 'error'] as const

const textMax = 500

/** Keeps only the known fields of a line that have the right type, and shortens long texts. */
export function onlyAllowed(line: LogLine): LogLine {
  const given: Readonly<Record<string, unknown>> = line
  const allowed: Record<string, unknown> = {}
  for (const [name, kind] of Object.entries(fields)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (typeof value === kind) allowed[name] = typeof value === 'string' ? value.slice(0, textMax) : value
  }
  // A line from outside the types may have none of these levels, and then gets no level.
  const level = levels.find(each => each === line.level) as LogLevel
  return { message: String(line.message).slice(0, textMax), level, ...allowed }
}
