import { fstatSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { searchFile } from '../../../src/store/database/search-file.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Reports whether this process has a file open. */
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
