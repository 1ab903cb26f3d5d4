import { createSecretKey, hash, type KeyObject } from 'node:crypto'
import { type Entropy, systemEntropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { decrypt, encrypt } from './encrypt.ts'

/**
 * Whoever holds the root key of a log: a key management service, or averba itself. It wraps the few keys of the
 * keyring beside the store, and nothing else. The log keeps `id`: keys of another id do not open it.
 */
export interface Keys {
  /** Names the root key: the same as long as it is the same key. */
  readonly id: string
  wrap(key: Uint8Array): Promise<Uint8Array>
  /** Undoes `wrap`. Rejects when the bytes were not wrapped by this key. */
  unwrap(wrapped: Uint8Array): Promise<Uint8Array>
  /** Told when an epoch of the keyring has been destroyed: copies of it should go as well. */
  destroyEpoch(epoch: number): Promise<void>
}

const rootBytes = 32

/**
 * The root key of a log from an environment variable: 32 random bytes in base64, as `openssl rand -base64 32` prints
 * them. The keyring beside the store then holds nothing that opens without it.
 *
 * @throws {AverbaError} `KEYS_MISSING` when the variable is not set, `KEYS_MISMATCH` when it holds something else
 */
export function environmentKeys({
  variable = 'AVERBA_ROOT_KEY',
  entropy = systemEntropy,
}: {
  variable?: string
  entropy?: Entropy
} = {}): Keys {
  const text = process.env[variable]
  if (text === undefined || text === '') {
    throw new AverbaError('KEYS_MISSING', `Cannot find the root key: the variable ${variable} is not set`, {
      hint: 'Set it to the key that the log was made with, or for a new log to the output of: openssl rand -base64 32',
    })
  }
  const root = Buffer.from(text, 'base64')
  if (root.length === rootBytes && root.toString('base64') === text) return rootKeys(root, entropy)
  throw new AverbaError(
    'KEYS_MISMATCH',
    `Cannot use the root key: the variable ${variable} does not hold ${rootBytes} bytes in base64`,
  )
}

const about = 'averba keyring v1'

/** Keys under a given root key. Their id tells nothing of it. */
function rootKeys(root: Uint8Array, entropy: Entropy): Keys {
  const key: KeyObject = createSecretKey(root)
  const digest = hash('sha256', Buffer.concat([Buffer.from('averba root key v1\0'), root]), 'hex')
  return {
    id: `keys_${digest.slice(0, 20)}`,
    wrap: async plain => encrypt(key, plain, about, entropy),
    unwrap: async wrapped => decrypt(key, wrapped, about),
    destroyEpoch: async () => undefined,
  }
}
