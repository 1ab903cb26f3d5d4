import { expect, test } from 'vitest'
import { createPieceFinder } from '../../../src/store/database/search-file.ts'

const bytes = Buffer.from(Array.from({ length: 997 }, (_, i) => (i * 167 + (i >> 3)) % 251))

function hexAt(from: number, length: number): string {
  return bytes.toString('hex', from, from + length)
}

test('a piece is found at every offset, and a truncated or changed one is not', () => {
  const there = Array.from({ length: bytes.length - 15 }, (_, from) => hexAt(from, 16))
  const cutOff = `${hexAt(bytes.length - 15, 16)}ff`
  const changed = `${hexAt(300, 15)}ff`
  const pieces = [...there, cutOff, changed].map(text => Buffer.from(text, 'hex'))
  const found = new Set<string>()
  createPieceFinder(pieces)(bytes, found)
  expect([...found].sort()).toEqual([...new Set(there)].sort())
})

test('a search without pieces finds nothing', () => {
  const found = new Set<string>()
  createPieceFinder([])(bytes, found)
  expect(found.size).toBe(0)
})

test('pieces of another length are refused', () => {
  expect(() => createPieceFinder([Buffer.alloc(16), Buffer.alloc(24)])).toThrow(TypeError)
})
