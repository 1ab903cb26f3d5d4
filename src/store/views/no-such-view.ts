import { AverbaError } from '../../vocabulary/errors.ts'

/** The error for a view that does not exist: it names those that do. */
export function noSuchView(cannot: string, views: readonly { readonly name: string }[]): AverbaError {
  return new AverbaError('INVALID_INPUT', `${cannot}: there is no such view`, {
    hint: `There are ${views.map(view => view.name).join(', ')}`,
  })
}
