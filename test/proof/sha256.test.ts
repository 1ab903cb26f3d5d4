import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fromBase64, fromHex, portableSha256, sha256, toBase64, toHex } from '../../src/proof/encoding.ts'

const nodeSha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex')

test('SHA-256 in plain JavaScript equals that of the runtime at every length around block ends', () => {
  for (let length = 0; length < 200; length++) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 31 + length) % 256)
    expect(portableSha256(bytes)).toBe(nodeSha256(bytes))
    expect(sha256(bytes)).toBe(nodeSha256(bytes))
  }
  expect(portableSha256('ação \u{1f600}')).toBe(nodeSha256('ação \u{1f600}'))
})

test('hexadecimal and base64 decode to the same bytes, and other base64 is rejected', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), bytes => {
      expect([...fromHex(toHex(bytes))]).toEqual([...bytes])
      expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
      expect(fromBase64(toBase64(bytes))).toEqual(Uint8Array.from(bytes))
    }),
  )
  // Read in chunks of 24,576 characters, of which only the last may end with padding.
  const long = Buffer.alloc(50_000, 'averba').toString('base64')
  expect(toBase64(fromBase64(long) ?? new Uint8Array())).toBe(long)
  const padded = `${long.slice(0, 24_572)}QQ==${long}`
  for (const text of ['QQ', 'QR==', 'Q Q=', 'Q-_=', ' QQ==', 'QQ==\n', '*', padded])
    expect(fromBase64(text)).toBeUndefined()
})
