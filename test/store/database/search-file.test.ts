import { fstatSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { searchFile } from '../../../src/store/database/search-file.ts'

/** Whether this process has a file open. */
function isOpen(inode: number): boolean {
  return readdirSync('/dev/fd').some(name => {
    try {
      return fstatSync(Number(name)).ino === inode
    } catch {
      return false // It was there for the reading of the folder alone.
    }
  })
}

test('a file that was searched and is removed is held open until the next search at most', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'averba-search-'))
  const [first, second] = [join(folder, 'first'), join(folder, 'second')]
  const piece = Buffer.alloc(16, 7)
  for (const path of [first, second]) writeFileSync(path, Buffer.concat([Buffer.alloc(100), piece]))
  const { ino } = statSync(first)
  expect(await searchFile(first, [piece])).toEqual({ bytes: 116, found: 1 })
  // Closing it would take away the locks that SQLite may hold on it.
  expect(isOpen(ino)).toBe(true)
  rmSync(first)
  expect(await searchFile(second, [piece])).toEqual({ bytes: 116, found: 1 })
  expect(isOpen(ino)).toBe(false)
  rmSync(folder, { recursive: true })
})
