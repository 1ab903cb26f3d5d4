import type { Recorded } from '../../src/index.ts'
import type { World } from '../../src/simulation/index.ts'

/** The events of some types, in their order. */
export async function eventsOf({ averba }: World, ...types: Recorded['type'][]): Promise<Recorded[]> {
  return Array.fromAsync(averba.log.read({ types }))
}
