import { createCipheriv, createSecretKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { decrypt, encrypt } from '../../src/vault/cryptography.ts'

const key = createSecretKey(Buffer.alloc(32, 7))

test('what was encrypted is decrypted, and not when it was changed or cut', () => {
  const sealed = encrypt(key, Buffer.from('texto'), 'a', systemEntropy)
  expect(decrypt(key, sealed, 'a').toString()).toBe('texto')
  expect(decrypt(key, encrypt(key, Buffer.alloc(0), 'a', systemEntropy), 'a')).toHaveLength(0)
  expect(() => decrypt(key, sealed, 'b')).toThrow()
  for (let length = 0; length < sealed.length; length++)
    expect(() => decrypt(key, sealed.subarray(0, length), 'a'), String(length)).toThrow()
})

test('a short tag is refused: it could be guessed', () => {
  // A nonce that is also the tag of nothing under it, cut to its length.
  for (const bytes of [4, 8, 12]) {
    const nonce = Buffer.alloc(bytes, 1)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 }).setAAD(Buffer.from('a'))
    cipher.final()
    const short = Buffer.concat([nonce, cipher.getAuthTag()]).subarray(0, 27)
    expect(() => decrypt(key, short, 'a')).toThrow(RangeError)
  }
})
