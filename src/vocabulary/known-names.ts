import { AverbaError, type ErrorCode } from './errors.ts'

/** How the error names the object: `Unknown option "x"`, and where: `of the consent`. */
interface NameList {
  readonly noun: 'option' | 'member'
  readonly of?: string
  readonly code?: ErrorCode
  readonly more?: string
}

/**
 * Refuses members with other names: they would be ignored silently.
 *
 * @throws {AverbaError} `INVALID_INPUT`, or the given code
 */
export function checkKnownNames(
  given: object,
  known: readonly string[],
  { noun, of, code = 'INVALID_INPUT', more = '' }: NameList,
): void {
  const unknown = Object.keys(given).find(name => !known.includes(name))
  if (unknown === undefined) return
  // Any other text may be personal data in the place of a name.
  const name = /^[A-Za-z]{1,40}$/.test(unknown) ? ` "${unknown}"` : ''
  const where = of === undefined ? '' : ` of ${of}`
  throw new AverbaError(code, `Unknown ${noun}${name}${where}`, {
    hint: `Known ${noun}s: ${known.join(', ')}${more}`,
  })
}
