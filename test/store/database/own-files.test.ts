import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { OwnFiles, readFileId } from '../../../src/store/database/own-files.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => {
  vi.useRealTimers()
})

const ends = ['', '-wal', '-shm']
const pathOf = (...parts: string[]) => join(folder, ...parts)

function write(...paths: string[]): void {
  for (const path of paths) writeFileSync(path, 'as it was')
}

function watch(path: string): OwnFiles {
  const files = new OwnFiles(path)
  files.check()
  return files
}

/** Makes two folders, and a store in the second that is linked to from the first. */
function givenLinked() {
  for (const name of ['named', 'real']) mkdirSync(pathOf(name))
  const [path, real] = [pathOf('named', 'log.sqlite'), pathOf('real', 'log.sqlite')]
  write(...ends.map(end => real + end))
  symlinkSync(real, path)
  return { path, real, files: watch(path) }
}

const expectRefusal = (files: OwnFiles) =>
  expect(() => files.check()).toThrow(expect.objectContaining({ code: 'STORE_UNSAFE' }))

describe.each(ends)('the file with the suffix "%s"', end => {
  const given = () => {
    write(...ends.map(each => pathOf(`log.sqlite${each}`)))
    return { file: pathOf(`log.sqlite${end}`), files: watch(pathOf('log.sqlite')) }
  }

  test('is reported at once when it is deleted or moved away', () => {
    const { file, files } = given()
    renameSync(file, pathOf('old'))
    expectRefusal(files)
    renameSync(pathOf('old'), file)
    files.check()
    rmSync(file)
    expectRefusal(files)
    expectRefusal(files)
  })

  test('is reported when another file replaces it and the mtime of the folder is reset', () => {
    const { file, files } = given()
    utimesSync(folder, 1, 1)
    files.check()
    write(pathOf('other'))
    renameSync(pathOf('other'), file)
    utimesSync(folder, 1, 1)
    expectRefusal(files)
  })
})

test('a journal created by the first transaction is checked from then on', () => {
  write(pathOf('log.sqlite'))
  const files = watch(pathOf('log.sqlite'))
  write(pathOf('log.sqlite-wal'))
  files.check()
  rmSync(pathOf('log.sqlite-wal'))
  expectRefusal(files)
})

test('a deleted journal is reported at once when the store is opened through a link in another folder', () => {
  const { real, files } = givenLinked()
  rmSync(`${real}-wal`)
  expectRefusal(files)
})

test('a link that now points to another store is reported at once', () => {
  const { path, real, files } = givenLinked()
  write(`${real}.copy`)
  rmSync(path)
  symlinkSync(`${real}.copy`, path)
  expectRefusal(files)
})

test('a replacement that changes no watched folder is reported within a second', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const [path, between, real, other] = ['named', 'between', 'first', 'second'].map(name => {
    mkdirSync(pathOf(name))
    return pathOf(name, 'log.sqlite')
  }) as [string, string, string, string]
  write(real, other)
  symlinkSync(real, between)
  symlinkSync(between, path)
  const files = watch(path)
  // The folder of an intermediate link is neither that of the name nor that of the file.
  rmSync(between)
  symlinkSync(other, between)
  vi.advanceTimersByTime(1_000)
  expectRefusal(files)
})

test.each([1_000, -3_600_000])('files are checked once when the ctime of their folder is %i ms away, not again', ms => {
  // Reading the times of a journal slows down its next write.
  write(pathOf('log.sqlite'))
  const look = vi.fn(readFileId)
  const files = new OwnFiles(pathOf('log.sqlite'), look)
  const looksOf = (checks: number) => {
    look.mockClear()
    for (let i = 0; i < checks; i++) files.check()
    return look.mock.calls.length
  }
  vi.useFakeTimers({ toFake: ['Date'] })
  // Changes within one tick of a coarse clock have the same time.
  for (let i = 0; i < 3; i++) expect(looksOf(1)).toBeGreaterThan(0)
  // Negative: the clock was ahead when the folder changed.
  vi.setSystemTime(Date.now() + ms)
  files.check()
  expect(looksOf(100)).toBe(0)
})
