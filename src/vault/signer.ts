import { createPrivateKey, createPublicKey, hkdfSync, sign } from 'node:crypto'

/** Signs checkpoints of a log (Ed25519). */
export interface KeyringSigner {
  readonly publicKey: Uint8Array
  sign(text: Uint8Array): Uint8Array
}

/** The bytes before the 32 bytes of an Ed25519 key in PKCS#8 (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex')

/** Derives the signer from a secret that every copy of the keyring has. */
export function deriveSigner(secret: Uint8Array): KeyringSigner {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'averba signing v1', 32))
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' })
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)
  return { publicKey: Uint8Array.from(publicKey), sign: text => sign(null, text, key) }
}
