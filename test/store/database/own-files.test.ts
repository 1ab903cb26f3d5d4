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

/** Creates the three files of a store and checks them once. */
function openFiles(path: string): OwnFiles {
  for (const end of ['', '-wal', '-shm']) writeFileSync(`${path}${end}`, 'as it was')
  const files = new OwnFiles(path)
  files.check()
  return files
}

/** Makes two folders, and a store in the second that is linked to from the first. */
function givenLinked(): { path: string; real: string } {
  for (const name of ['named', 'real']) mkdirSync(join(folder, name))
  const [path, real] = [join(folder, 'named', 'log.sqlite'), join(folder, 'real', 'log.sqlite')]
  for (const end of ['', '-wal', '-shm']) writeFileSync(`${real}${end}`, 'as it was')
  symlinkSync(real, path)
  return { path, real }
}

const refused = expect.objectContaining({ code: 'STORE_UNSAFE' })

describe.each(['', '-wal', '-shm'])('the file with the suffix "%s"', end => {
  test('is reported at once when it is deleted or moved away', () => {
    const path = join(folder, 'log.sqlite')
    const files = openFiles(path)
    renameSync(`${path}${end}`, `${path}.old`)
    expect(() => files.check()).toThrow(refused)
    renameSync(`${path}.old`, `${path}${end}`)
    expect(() => files.check()).not.toThrow()
    rmSync(`${path}${end}`)
    expect(() => files.check()).toThrow(refused)
    expect(() => files.check()).toThrow(refused)
  })

  test('is reported when another file replaces it and the mtime of the folder is reset', () => {
    const path = join(folder, 'log.sqlite')
    const files = openFiles(path)
    utimesSync(folder, 1, 1)
    files.check()
    writeFileSync(join(folder, 'other'), 'as it was')
    renameSync(join(folder, 'other'), `${path}${end}`)
    utimesSync(folder, 1, 1)
    expect(() => files.check()).toThrow(refused)
  })
})

test('a journal created by the first transaction is checked from then on', () => {
  const path = join(folder, 'log.sqlite')
  writeFileSync(path, '')
  const files = new OwnFiles(path)
  files.check()
  writeFileSync(`${path}-wal`, 'new')
  expect(() => files.check()).not.toThrow()
  rmSync(`${path}-wal`)
  expect(() => files.check()).toThrow(refused)
})

test('a deleted journal is reported at once when the store is opened through a link in another folder', () => {
  const { path, real } = givenLinked()
  const files = new OwnFiles(path)
  files.check()
  rmSync(`${real}-wal`)
  expect(() => files.check()).toThrow(refused)
})

test('a link that now points to another store is reported at once', () => {
  const { path, real } = givenLinked()
  writeFileSync(`${real}.copy`, '')
  const files = new OwnFiles(path)
  files.check()
  rmSync(path)
  symlinkSync(`${real}.copy`, path)
  expect(() => files.check()).toThrow(refused)
})

test('a replacement that changes no watched folder is reported within a second', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  for (const name of ['named', 'between', 'first', 'second']) mkdirSync(join(folder, name))
  const [real, other] = [join(folder, 'first', 'log.sqlite'), join(folder, 'second', 'log.sqlite')]
  writeFileSync(real, '')
  writeFileSync(other, '')
  const [path, between] = [join(folder, 'named', 'log.sqlite'), join(folder, 'between', 'log.sqlite')]
  symlinkSync(real, between)
  symlinkSync(between, path)
  const files = new OwnFiles(path)
  files.check()
  // The folder of an intermediate link is neither that of the name nor that of the file.
  rmSync(between)
  symlinkSync(other, between)
  vi.advanceTimersByTime(1_000)
  expect(() => files.check()).toThrow(refused)
})

test.each([1_000, -3_600_000])(
  'files are checked once when the ctime of their folder is %i ms away, and then not again',
  ms => {
    // Reading the times of a journal slows down its next write.
    const path = join(folder, 'log.sqlite')
    writeFileSync(path, '')
    let looks = 0
    const files = new OwnFiles(path, each => {
      looks += 1
      return readFileId(each)
    })
    vi.useFakeTimers({ toFake: ['Date'] })
    // Changes within one tick of a coarse clock have the same time.
    for (let before = looks, i = 0; i < 3; i++, before = looks) {
      files.check()
      expect(looks).toBeGreaterThan(before)
    }
    // Negative: the clock was ahead when the folder changed.
    vi.setSystemTime(Date.now() + ms)
    files.check()
    const last = looks
    for (let i = 0; i < 100; i++) files.check()
    expect(looks).toBe(last)
  },
)
