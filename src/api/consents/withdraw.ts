import type { Target } from '../../engine/recording/decisions.ts'
import type { Owed } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'

/**
 * Ends a call that has not left, together with what is asked for in its place: an attempt that begins meanwhile makes
 * both fail.
 */
export function withdraw(owed: Pick<Owed, 'id' | 'type' | 'position'>): Target {
  const { id: effect, type } = owed
  return { stream: effectStream(owed), message: { type: 'effect.withdraw', data: { effect, type } } }
}
