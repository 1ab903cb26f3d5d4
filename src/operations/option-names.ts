import type { LogPlace } from '../store/database/log-place.ts'
import type { VerifyLogOptions } from './audit.ts'
import type { OpenedWith } from './with-store.ts'

/** The names of options, each of them: others are refused, since they would be ignored silently. */
export type OptionNames<O> = { readonly [K in keyof Required<O>]: true }

export const placeNames = { store: true, pool: true, keyring: true } as const satisfies OptionNames<LogPlace>

export const openedNames = {
  ...placeNames,
  ...{ rootKey: true, highWaterMark: true, clock: true, entropy: true },
} as const satisfies OptionNames<OpenedWith>

export const verifyNames = {
  ...placeNames,
  ...{ rootKey: true, highWaterMark: true, keys: true, witnesses: true, mark: true, onProgress: true, signal: true },
} as const satisfies OptionNames<VerifyLogOptions>
