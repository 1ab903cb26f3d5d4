import { AverbaError, type ErrorCode } from './errors.ts'

/** What has names, as an error says it: `Unknown option "x"`, and where: `of the consent`. */
interface NameList {
  readonly noun: 'option' | 'member'
  readonly of?: string
  readonly code?: ErrorCode
  /** Added to the hint. */
  readonly more?: string
}

/**
 * Refuses a member of any other name than these: it is a slip, and what it asks for would be ignored in silence.
 *
 * @throws {AverbaError} `INVALID_INPUT`, unless another code is given
 */
export function checkKnownNames(
  given: object,
  known: readonly string[],
  { noun, of, code = 'INVALID_INPUT', more = '' }: NameList,
): void {
  const unknown = Object.keys(given).find(name => !known.includes(name))
  if (unknown === undefined) return
  // Any other text may be somebody's data that took the place of a name.
  const name = /^[A-Za-z]{1,40}$/.test(unknown) ? ` "${unknown}"` : ''
  const where = of === undefined ? '' : ` of ${of}`
  throw new AverbaError(code, `Unknown ${noun}${name}${where}`, {
    hint: `Known ${noun}s: ${known.join(', ')}${more}`,
  })
}
