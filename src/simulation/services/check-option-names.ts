import { AverbaError } from '../../vocabulary/errors.ts'

/**
 * Refuses an option of a name that there is not: it is a slip, and would otherwise be ignored in silence.
 *
 * @param names every option that there is
 * @throws {AverbaError} `MISCONFIGURED`
 */
export function checkOptionNames(options: object, names: Readonly<Record<string, true>>, more = ''): void {
  const unknown = Object.keys(options).find(name => !Object.hasOwn(names, name))
  if (unknown === undefined) return
  const hint = `Use one of ${Object.keys(names).join(', ')}${more}`
  throw new AverbaError('MISCONFIGURED', `Cannot use the option "${unknown}": there is none of this name`, {
    hint,
  })
}
