import type { Recorded } from '../../src/index.ts'
import type { World } from '../../src/simulation/index.ts'

/** The events of some types, in their order. */
export async function eventsOf<T extends Recorded['type']>(
  { averba }: Pick<World, 'averba'>,
  ...types: T[]
): Promise<Recorded<T>[]> {
  return Array.fromAsync(averba.log.read({ types }))
}
