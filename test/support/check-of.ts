import type { Averba } from '../../src/index.ts'

type Name = NonNullable<NonNullable<Parameters<Averba['health']>[0]>['only']>[number]

/** What health says of one check. */
export async function checkOf(averba: Averba, name: Name) {
  return (await averba.health({ only: [name] })).checks[0]
}
