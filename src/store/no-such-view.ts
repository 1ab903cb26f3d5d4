import { AverbaError } from '../errors.ts'

/** Nothing can be done with a view that is not there: says which there are. */
export function noSuchView(cannot: string, views: readonly { readonly name: string }[]): AverbaError {
  return new AverbaError('INVALID_INPUT', `${cannot}: there is no such view`, {
    hint: `There are ${views.map(view => view.name).join(', ')}`,
  })
}
