import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  hash,
  hkdfSync,
  type KeyObject,
  sign,
} from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16
/** Otherwise Node accepts a tag that was cut to four bytes, which can be guessed. */
const tagLength = { authTagLength: tagBytes }

/** Encrypts with associated data (AAD). The result is the nonce, the ciphertext and the tag. */
export function encrypt(key: KeyObject, plain: Uint8Array, aad: string, entropy: Entropy): Buffer {
  const nonce = entropy.bytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce, tagLength).setAAD(Buffer.from(aad))
  const encrypted = cipher.update(plain)
  // In GCM `update` gives all of the output.
  cipher.final()
  return Buffer.concat([nonce, encrypted, cipher.getAuthTag()])
}

/** Reverses `encrypt`. Throws when the key, the bytes or the associated data differ. */
export function decrypt(key: KeyObject, sealed: Uint8Array, aad: string): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  if (bytes.length < nonceBytes + tagBytes) throw new RangeError('Cannot decrypt: a nonce and a tag are longer')
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes), tagLength)
    .setAAD(Buffer.from(aad))
    .setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
}

/** The inner and outer padded key (RFC 2104). */
export interface HmacKey {
  readonly inner: Buffer
  readonly outer: Buffer
}

/** Prepares a key of up to 64 bytes. */
export function hmacKey(key: Buffer): HmacKey {
  const padded = Buffer.concat([key, Buffer.alloc(64 - key.length)])
  return {
    inner: Buffer.from(padded.map(byte => byte ^ 0x36)),
    outer: Buffer.from(padded.map(byte => byte ^ 0x5c)),
  }
}

/**
 * Computes HMAC-SHA-256 (RFC 2104) of a text, and of bytes after it, with two one-shot hashes: in Node several times as
 * fast as an Hmac object. Node returns a hash as a binary string faster than as a buffer.
 */
export function hmac({ inner, outer }: HmacKey, text: string, bytes: Uint8Array = noBytes): Buffer {
  const first = hash('sha256', Buffer.concat([inner, Buffer.from(text), bytes]), 'binary')
  return Buffer.from(hash('sha256', Buffer.concat([outer, Buffer.from(first, 'binary')]), 'binary'), 'binary')
}

const noBytes = new Uint8Array()

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
