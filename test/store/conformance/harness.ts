import type { expect } from 'vitest'
import type { Connection } from '../../../src/store/database/connection.ts'

export type Connect = () => Promise<Connection>

/** The functions of the test runner that the suite uses: `broken-stores.test.ts` gives its own. */
export interface Harness {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test: (name: string, body: () => Promise<void>) => unknown
  readonly expect: typeof expect
}
