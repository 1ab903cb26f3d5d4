import { AverbaError } from '../errors.ts'

/** The error for a log that contradicts itself. */
export function damaged(message: string, cause?: unknown): AverbaError {
  return new AverbaError('CORRUPT', message, {
    ...(cause !== undefined && { cause }),
    hint: 'Look at it with averba doctor --deep, keep the file as it is, and restore a backup beside it',
  })
}
