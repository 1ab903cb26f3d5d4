import type { Averba } from '../../src/index.ts'

/** The reason of the first early reading of failure records; `undefined` before it. */
export async function earlyReadingReason({ log }: Averba): Promise<string | undefined> {
  for await (const { data } of log.read({ types: ['portal.recoveryHastened'] }))
    return (data as { reason: string }).reason // As the machine writes it.
  return undefined
}
