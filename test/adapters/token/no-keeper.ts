import type { TokenKeeper } from '../../../src/adapters/token/client.ts'

/** Keeps no token: each one is the first. */
export const noKeeper: TokenKeeper = {
  stream: 'token-default',
  find: async () => undefined,
  keep: async () => undefined,
  drop: async () => undefined,
  nameCredential: () => ({ contract: 'c1', credential: 'k1' }),
}
