import { hash } from 'node:crypto'

/** The inner and outer padded key (RFC 2104). */
export interface HmacKey {
  readonly inner: Buffer
  readonly outer: Buffer
}

/** Prepares a key of up to 64 bytes. */
export function hmacKey(key: Buffer): HmacKey {
  const padded = Buffer.concat([key, Buffer.alloc(64 - key.length)])
  return {
    inner: padded.map(byte => byte ^ 0x36) as Buffer,
    outer: padded.map(byte => byte ^ 0x5c) as Buffer,
  } // A Buffer maps to a Buffer.
}

/**
 * Computes HMAC-SHA-256 (RFC 2104) with two one-shot hashes: in Node several times as fast as an Hmac object. Output in
 * hexadecimal is also faster than a buffer.
 */
export function hmac({ inner, outer }: HmacKey, text: string): Buffer {
  const first = hash('sha256', Buffer.concat([inner, Buffer.from(text)]), 'hex')
  return Buffer.from(hash('sha256', Buffer.concat([outer, Buffer.from(first, 'hex')]), 'hex'), 'hex')
}
