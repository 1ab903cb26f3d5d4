import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** Encrypts with associated data (AAD). The result is the nonce, the ciphertext and the tag. */
export function encrypt(key: KeyObject, plain: Uint8Array, aad: string, entropy: Entropy): Buffer {
  const nonce = entropy.bytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(aad))
  const encrypted = cipher.update(plain)
  // In GCM `update` gives all of the output.
  cipher.final()
  return Buffer.concat([nonce, encrypted, cipher.getAuthTag()])
}

/** Reverses `encrypt`. Throws when the key, the bytes or the associated data differ. */
export function decrypt(key: KeyObject, sealed: Uint8Array, aad: string): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes))
    .setAAD(Buffer.from(aad))
    .setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
}
