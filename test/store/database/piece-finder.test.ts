import { expect, test } from 'vitest'
import { createPieceFinder } from '../../../src/store/database/search-file.ts'

const bytes = Buffer.from(Array.from({ length: 997 }, (_, i) => (i * 167 + (i >> 3)) % 251))

function hexAt(from: number, length: number): string {
  return bytes.toString('hex', from, from + length)
}

test.each([4, 16, 24])(
  'a piece of %i bytes is found at every offset, and a truncated or changed one is not',
  length => {
    const there = Array.from({ length: bytes.length - length + 1 }, (_, from) => hexAt(from, length))
    const cutOff = `${hexAt(bytes.length - length + 1, length)}ff`
    const changed = `${hexAt(300, length - 1)}ff`
    const pieces = [...there, cutOff, changed].map(text => Buffer.from(text, 'hex'))
    const found = new Set<string>()
    createPieceFinder(pieces)(bytes, found)
    expect([...found].sort()).toEqual([...new Set(there)].sort())
  },
)

test('a search without pieces finds nothing', () => {
  const found = new Set<string>()
  createPieceFinder([])(bytes, found)
  expect(found.size).toBe(0)
})

test('pieces that are too short or differ in length are refused', () => {
  expect(() => createPieceFinder([Buffer.alloc(3)])).toThrow(TypeError)
  expect(() => createPieceFinder([Buffer.alloc(16), Buffer.alloc(24)])).toThrow(TypeError)
})
