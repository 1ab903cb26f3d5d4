import { effectStream } from './addresses.ts'
import type { Target } from './decisions.ts'
import type { Owed } from './message.ts'

/**
 * Ends a call that has not left, together with what is asked for in its place: an attempt that begins meanwhile makes
 * both fail.
 */
export function withdraw(owed: Pick<Owed, 'id' | 'type' | 'position'>): Target {
  const { id: effect, type } = owed
  return { stream: effectStream(owed), message: { type: 'effect.withdraw', data: { effect, type } } }
}
