import { AverbaError } from '../../vocabulary/errors.ts'
import type { Json } from '../../vocabulary/message.ts'

/** Why someone decided, sealed under the data subject: what the person saw and did, login state, channel. */
export interface DecisionEvidence {
  readonly reason?: string
  /** Anything that JSON can carry, up to 64 KiB. */
  readonly evidence?: unknown
}

const bytesMax = 65_536

/**
 * Takes reason and evidence as JSON; `undefined` when there is neither.
 *
 * @throws {AverbaError} `INVALID_INPUT` when JSON cannot carry them, or they are too long; without their content
 */
export function checkWhy({
  reason,
  evidence,
}: { [K in keyof DecisionEvidence]?: DecisionEvidence[K] | undefined }): Json | undefined {
  if (reason === undefined && evidence === undefined) return undefined
  if (reason !== undefined && (typeof reason !== 'string' || !reason.isWellFormed()))
    throw invalid('the reason is not a text')
  const text = write({ reason, evidence })
  if (Buffer.byteLength(text) > bytesMax) throw invalid(`they are over ${bytesMax} bytes`)
  return JSON.parse(text) as Json // What was written just now.
}

function write(why: object): string {
  try {
    return JSON.stringify(why)
  } catch {
    throw invalid('JSON cannot carry them')
  }
}

function invalid(reason: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot keep reason and evidence: ${reason}`)
}
