import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto'
import type { Entropy } from '../runtime/entropy.ts'

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

/** Encrypts under a key: nonce, ciphertext and tag in one piece, bound to `about`. */
export function encrypt(key: KeyObject, plain: Uint8Array, about: string, entropy: Entropy): Buffer {
  const nonce = entropy.bytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(about))
  const encrypted = cipher.update(plain)
  // In this mode all output came with the update.
  cipher.final()
  return Buffer.concat([nonce, encrypted, cipher.getAuthTag()])
}

/** Undoes `encrypt`. Throws when the key, the bytes or `about` differ. */
export function decrypt(key: KeyObject, sealed: Uint8Array, about: string): Buffer {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, nonceBytes))
    .setAAD(Buffer.from(about))
    .setAuthTag(bytes.subarray(-tagBytes))
  return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, -tagBytes)), decipher.final()])
}
