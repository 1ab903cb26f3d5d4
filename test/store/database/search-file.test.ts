import { fstatSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createPieceFinder, searchFile } from '../../../src/store/database/search-file.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

function isOpen(inode: number): boolean {
  return readdirSync('/dev/fd').some(name => {
    try {
      return fstatSync(Number(name)).ino === inode
    } catch {
      return false // The descriptor of `readdirSync` itself is closed already.
    }
  })
}

test('a searched file that is removed is closed by the next search', async () => {
  const folder = temporaryFolder()
  const [first, second] = [join(folder, 'first'), join(folder, 'second')]
  const piece = Buffer.alloc(16, 7)
  for (const path of [first, second]) writeFileSync(path, Buffer.concat([Buffer.alloc(100), piece]))
  const { ino } = statSync(first)
  expect(await searchFile(first, [piece])).toEqual({ bytes: 116, found: 1 })
  // Closing it would drop the locks that SQLite may hold on it.
  expect(isOpen(ino)).toBe(true)
  rmSync(first)
  expect(await searchFile(second, [piece])).toEqual({ bytes: 116, found: 1 })
  expect(isOpen(ino)).toBe(false)
})

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

test('a search without pieces finds nothing, and pieces of another length are refused', () => {
  const found = new Set<string>()
  createPieceFinder([])(bytes, found)
  expect(found.size).toBe(0)
  expect(() => createPieceFinder([Buffer.alloc(16), Buffer.alloc(24)])).toThrow(TypeError)
})
