import { followerOf } from '../../api/notifications/handler-worker.ts'
import type { Follower } from './followers.ts'

/**
 * Reports whether some handler of an event has not passed the position yet; it may belong to another process, or to one
 * that is down.
 */
export function isAwaited(
  followers: readonly Pick<Follower, 'name' | 'position'>[],
  evento: string,
  position: number,
): boolean {
  const ofEvento = followerOf({ evento, name: '' })
  const isOf = (name: string) => name.startsWith(ofEvento) && !name.includes('/', ofEvento.length)
  return followers.some(each => isOf(each.name) && each.position < position)
}
