import type { Averba } from '../../../src/index.ts'

/** Why the failure records were read out of turn for the first time; `undefined` until they were. */
export async function hastened({ log }: Averba): Promise<string | undefined> {
  for await (const { data } of log.read({ types: ['portal.recoveryHastened'] }))
    return (data as { reason: string }).reason // As the machine writes it.
  return undefined
}
