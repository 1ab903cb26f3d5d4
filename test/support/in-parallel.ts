import { availableParallelism } from 'node:os'

/** Does each piece of work, as many at a time as there are processors. */
export async function inParallel<T>(work: readonly T[], each: (item: T) => Promise<void>): Promise<void> {
  const rest = [...work]
  const worker = async () => {
    for (let item = rest.shift(); item !== undefined; item = rest.shift()) await each(item)
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
}
