import type { Averba, Recorded } from '../../src/index.ts'

export async function eventsOf<T extends Recorded['type']>(
  { averba }: { averba: Averba },
  ...types: T[]
): Promise<Recorded<T>[]> {
  return Array.fromAsync(averba.log.read({ types }))
}
