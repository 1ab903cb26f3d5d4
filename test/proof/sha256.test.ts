import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromBase64, fromHex, toBase64, toHex } from '../../src/proof/encoding.ts'
import { digest, portableDigest, portableSha256, sha256 } from '../../src/proof/sha256.ts'

const own = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')

test('the hash in plain JavaScript is that of the runtime, at every length around its blocks', () => {
  for (let length = 0; length < 200; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + length) % 256)
    expect(portableSha256(bytes)).toBe(own(bytes))
    expect(sha256(bytes)).toBe(own(bytes))
    for (const of of [digest, portableDigest])
      expect(Buffer.from(of(bytes), 'latin1').toString('hex')).toBe(own(bytes))
  }
  expect(portableSha256('ação \u{1f600}')).toBe(own('ação \u{1f600}'))
})

test('bytes come back from hexadecimal and base64, and other base64 is refused', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), bytes => {
      expect([...fromHex(toHex(bytes))]).toEqual([...bytes])
      expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
      expect(fromBase64(toBase64(bytes))).toEqual(Uint8Array.from(bytes))
    }),
  )
  for (const text of ['QQ', 'QR==', 'Q Q=', 'Q-_=', ' QQ==', 'QQ==\n', '*'])
    expect(fromBase64(text)).toBeUndefined()
})
