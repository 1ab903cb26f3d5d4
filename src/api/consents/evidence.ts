import { AverbaError } from '../../vocabulary/errors.ts'
import type { Json } from '../../vocabulary/message.ts'

/** Why someone decided, sealed under the data subject's key: what the person saw and did, login state, channel. */
export interface DecisionEvidence {
  readonly reason?: string
  /** Any JSON value, up to 64 KiB. */
  readonly evidence?: unknown
}

const evidenceBytesMax = 65_536

/**
 * Converts reason and evidence to JSON; `undefined` when both are absent.
 *
 * @throws {AverbaError} `INVALID_INPUT` when they are not JSON or too long; the message does not quote them
 */
export function checkEvidence({
  reason,
  evidence,
}: { [K in keyof DecisionEvidence]?: DecisionEvidence[K] | undefined }): Json | undefined {
  if (reason === undefined && evidence === undefined) return undefined
  if (reason !== undefined && (typeof reason !== 'string' || !reason.isWellFormed()))
    throw invalidEvidence('the reason is not a text')
  const text = stringifyEvidence({ reason, evidence })
  if (Buffer.byteLength(text) > evidenceBytesMax)
    throw invalidEvidence(`they are longer than ${evidenceBytesMax} bytes`)
  return JSON.parse(text) as Json // `stringify` wrote it.
}

function stringifyEvidence(why: object): string {
  try {
    return JSON.stringify(why)
  } catch {
    throw invalidEvidence('they are not JSON')
  }
}

function invalidEvidence(reason: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot record reason and evidence: ${reason}`)
}
