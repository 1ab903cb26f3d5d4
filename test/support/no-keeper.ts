import type { TokenKeeper } from '../../src/adapters/token/client.ts'

/** Stores no token. */
export const noKeeper: TokenKeeper = {
  stream: 'token-default',
  find: async () => undefined,
  keep: async () => undefined,
  drop: async () => undefined,
  nameCredential: () => ({ contract: 'c1', credential: 'k1' }),
}
