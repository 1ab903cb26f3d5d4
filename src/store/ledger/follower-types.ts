import { AverbaError } from '../../vocabulary/errors.ts'
import type { Store } from '../store.ts'
import type { Follower } from './followers.ts'

/**
 * Keeps the types of a follower beside its place, which says what it has done of those alone. Types may be dropped;
 * events of an added type that lie before its place would be passed over in silence.
 *
 * @throws {AverbaError} `INVALID_INPUT` when it is past events of a type that it did not follow
 */
export async function keepTypes(
  { followers }: Pick<Store, 'followers'>,
  follower: Follower,
  types: readonly string[],
): Promise<void> {
  const { name, position, types: before } = follower
  if (before && isSame(before, types)) return
  const more = types.filter(type => !before?.includes(type))
  const first = more.length > 0 && position > 0 ? await followers.next(0, more) : undefined
  if (first !== undefined && first <= position) {
    const cannot = `Cannot follow as "${name}": it is past events of types that it did not follow: ${more.join(', ')}`
    throw new AverbaError('INVALID_INPUT', cannot, {
      hint: 'Follow them under a name of their own, which begins with the log',
    })
  }
  await followers.setTypes(follower, types)
}

/** Reports whether both have the same types, in their order. */
export function isSame(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each, at) => each === others[at])
}
