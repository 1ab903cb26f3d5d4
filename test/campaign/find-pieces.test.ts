import { expect, test } from 'vitest'
import { findPieces } from './find-pieces.ts'

test('a piece is found wherever it begins, the first and the last byte included, and what is cut is not', () => {
  const bytes = Buffer.from(Array.from({ length: 997 }, (_, i) => (i * 167 + (i >> 3)) % 251))
  const at = (from: number, length = 24) => Buffer.from(bytes.subarray(from, from + length))
  const there = [0, 1, 7, 15, 16, 17, 498, 972, 973].map(from => at(from))
  const cut = [...at(974, 23), 251]
  const changed = Buffer.from(at(300).map((byte, i) => (i === 23 ? 255 : byte)))
  const found = findPieces(bytes, [...there, Buffer.from(cut), changed])
  expect([...found].sort(Buffer.compare)).toEqual([...there].sort(Buffer.compare))
})

test('pieces that are too short to be found are refused', () => {
  expect(() => findPieces(Buffer.alloc(100), [Buffer.alloc(18)])).toThrow(TypeError)
})
