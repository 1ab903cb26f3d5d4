import { createSecretKey, hash, type KeyObject } from 'node:crypto'
import { type Entropy, systemEntropy } from '../runtime/entropy.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { decrypt, encrypt } from './cryptography.ts'

/**
 * The holder of a log's root key: a key management service, or averba itself. It wraps only the few keys of the keyring
 * file. The log stores `id`, and keys with another id do not open it.
 */
export interface Keys {
  /** Identifies the root key, and must not change while the key stays the same. */
  readonly id: string
  /** Wraps a key. `name` says which, such as `epoch 3`: bind it in, as the encryption context of the service. */
  wrap(key: Uint8Array, name: string): Promise<Uint8Array>
  /** Reverses `wrap`. Rejects when the bytes were not wrapped by this key, under this name. */
  unwrap(wrapped: Uint8Array, name: string): Promise<Uint8Array>
  /** Called when an epoch of the keyring was destroyed. Delete copies of its key here. */
  destroyEpoch(epoch: number): Promise<void>
}

const rootBytes = 32

/**
 * Takes the root key of a log from an environment variable: 32 random bytes in base64, as printed by `openssl rand
 * -base64 32`. Without it nothing in the keyring file opens.
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
  if (text === undefined || text === '')
    throw new AverbaError('KEYS_MISSING', `Cannot find the root key: the variable ${variable} is not set`, {
      hint: 'Set it to the root key of the log, or for a new log to the output of: openssl rand -base64 32',
    })
  const root = Buffer.from(text, 'base64')
  if (root.length === rootBytes && root.toString('base64') === text) return rootKeys(root, entropy)
  throw new AverbaError(
    'KEYS_MISMATCH',
    `Cannot use the root key: the variable ${variable} does not hold ${rootBytes} bytes in base64`,
  )
}

const associatedData = 'averba keyring v1'

/** Wraps under a root key. The id is a digest that reveals nothing of the key. */
function rootKeys(root: Uint8Array, entropy: Entropy): Keys {
  const key: KeyObject = createSecretKey(root)
  const digest = hash('sha256', Buffer.concat([Buffer.from('averba root key v1\0'), root]), 'hex')
  return {
    id: `keys_${digest.slice(0, 20)}`,
    wrap: async (plain, name) => encrypt(key, plain, `${associatedData} ${name}`, entropy),
    unwrap: async (wrapped, name) => decrypt(key, wrapped, `${associatedData} ${name}`),
    destroyEpoch: async () => undefined,
  }
}
