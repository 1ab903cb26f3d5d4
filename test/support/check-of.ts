import type { Averba, HealthCheck } from '../../src/index.ts'

/** What one check of the health of a log says. */
export async function checkOf({ health }: Pick<Averba, 'health'>, name: HealthCheck['name']) {
  return (await health({ only: [name] })).checks[0]
}
