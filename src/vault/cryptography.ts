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

const blockBytes = 64
const digestBytes = 32

/**
 * HMAC-SHA-256 (RFC 2104) under one key of up to 64 bytes. Two one-shot hashes over buffers that are used again are
 * several times as fast in Node as an Hmac object, and a string is a faster result than a buffer.
 */
export class Hmac {
  /** The inner padded key, and the text after it. */
  #inner: Buffer
  /** The outer padded key, and the inner hash after it. */
  readonly #outer: Buffer

  constructor(key: Uint8Array) {
    this.#inner = Buffer.alloc(4 * blockBytes, 0x36)
    this.#outer = Buffer.alloc(blockBytes + digestBytes, 0x5c)
    for (const [i, byte] of key.entries()) {
      this.#inner[i] = byte ^ 0x36
      this.#outer[i] = byte ^ 0x5c
    }
  }

  digest(text: string): Buffer {
    return Buffer.from(this.encode(text, 'binary'), 'binary')
  }

  encode(text: string, encoding: 'binary' | 'base64url'): string {
    const bytesMax = blockBytes + 3 * text.length
    if (bytesMax > this.#inner.length) this.#inner = Buffer.concat([this.#inner], 2 * bytesMax)
    const end = blockBytes + this.#inner.write(text, blockBytes)
    this.#outer.write(hash('sha256', this.#inner.subarray(0, end), 'binary'), blockBytes, 'binary')
    return hash('sha256', this.#outer, encoding)
  }
}

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
