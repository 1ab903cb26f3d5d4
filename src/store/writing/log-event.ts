import { logStream, type logTypes } from '../../proof/log-stream.ts'
import type { Append } from './append.ts'

type LogEvent = Append['events'][number]

/** An event that the log records of itself, with the command that made it: no chart decides it. */
export function logEvent(type: (typeof logTypes)[number], because: string, data: unknown): LogEvent {
  return { stream: logStream, event: { type, data }, because, machine: { name: 'log', version: 1 } }
}
