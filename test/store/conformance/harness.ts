import type { Connection } from '../../../src/store/database/connection.ts'

/** Opens a connection to one database. */
export type Connect = () => Promise<Connection>

/** The matchers that the suite uses. Vitest, Jest, Bun and `@std/expect` have all of them. */
export interface Matchers {
  toBe(expected: unknown): void
  toBeUndefined(): void
  toEqual(expected: unknown): void
  toMatchObject(expected: object): void
  toHaveLength(expected: number): void
  toContain(expected: string): void
  toBeGreaterThan(expected: number): void
  toBeLessThan(expected: number): void
  readonly not: Matchers
  readonly rejects: { toMatchObject(expected: object): Promise<void> }
}

/** The functions of a test runner that the suite uses. */
export interface Harness {
  readonly describe: (name: string, body: () => void) => unknown
  readonly test: (name: string, body: () => Promise<void>) => unknown
  readonly expect: ((value: unknown) => Matchers) & { stringMatching(pattern: RegExp): unknown }
}
