import { expect, test } from 'vitest'
import { Random } from '../support/random.ts'
import { Disk } from './disk.ts'
import { readTrace, type Step } from './trace.ts'

const hex = (text: string) => [...Buffer.from(text)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
const path = '/d/log'
const write = (offset: number, text: string): Step => ({ type: 'write', path, offset, bytes: Buffer.from(text) })
const sync: Step = { type: 'sync', path }
const syncNames: Step = { type: 'sync', path: '/d' }

function diskAfter(...steps: Step[]): Disk {
  const disk = new Disk('/d')
  for (const step of steps) disk.apply(step)
  return disk
}

test('a trace is parsed call by call, with data and without failed calls', () => {
  const lines = [
    `pwrite64(3<${hex('/d/log')}>, "${hex('abc')}", 3, 8) = 3`,
    `pwrite64(3<${hex('/d/log')}>, "${hex('abc')}", 3, 8) = -1 EIO (Input/output error) (INJECTED)`,
    `write(1<${hex('pipe:[7]')}>, "${hex('{"type":"opened"}\n')}", 18) = 18`,
    `ftruncate(3<${hex('/d/log')}>, 5) = 0`,
    `fsync(4<${hex('/d')}>) = 0`,
    `link("${hex('/d/a')}", "${hex('/d/b')}") = 0`,
    `unlink("${hex('/d/a')}") = 0`,
    '+++ exited with 0 +++',
  ]
  expect(readTrace(lines)).toEqual([
    { type: 'write', path, offset: 8, bytes: Buffer.from('abc') },
    { type: 'output', messages: [{ type: 'opened' }] },
    { type: 'truncate', path, size: 5 },
    { type: 'sync', path: '/d' },
    { type: 'link', from: '/d/a', to: '/d/b' },
    { type: 'unlink', path: '/d/a' },
  ])
  expect(() => readTrace([`pwrite64(3<${hex('/d')}>, "${hex('a')}"..., 9, 8) = 9`])).toThrow('cut the data short')
})

test('synced changes are kept, and unsynced ones may survive or not', () => {
  const disk = diskAfter(write(0, 'aaaa'), sync, syncNames, write(2, 'bbbb'))
  expect(disk.image('none')).toEqual(new Map([[path, Buffer.from('aaaa')]]))
  expect(disk.image('all')).toEqual(new Map([[path, Buffer.from('aabbbb')]]))
})

test('a file name is certain once its folder was synced, and name changes keep their order', () => {
  const linked: Step[] = [
    { type: 'write', path: '/d/new', offset: undefined, bytes: Buffer.from('a') },
    { type: 'sync', path: '/d/new' },
    { type: 'link', from: '/d/new', to: path },
    { type: 'unlink', path: '/d/new' },
  ]
  const disk = diskAfter(...linked)
  expect([...disk.image('none').keys()]).toEqual([])
  const seen = new Set(Array.from({ length: 50 }, (_, seed) => [...disk.image(new Random(seed)).keys()].join()))
  expect([...seen].sort()).toEqual(['', '/d/log', '/d/new', '/d/new,/d/log'])
  disk.apply(syncNames)
  expect([...disk.image('none').keys()]).toEqual([path])
})

test('a long write is torn only at sectors', () => {
  const disk = diskAfter(write(0, '.'.repeat(2_048)), sync, syncNames, write(100, 'x'.repeat(1_500)))
  const images = Array.from({ length: 60 }, (_, seed) => disk.image(new Random(seed)).get(path)?.toString() ?? '')
  const sectors = images.map(image => [0, 512, 1_024].map(from => image.slice(from, from + 512).includes('x')))
  expect(new Set(sectors.map(String)).size).toBe(8)
  for (const image of images)
    for (const from of [100, 512, 1_024])
      expect(new Set(image.slice(from, 512 * Math.ceil((from + 1) / 512))).size).toBe(1)
})

test('a rename is atomic, and the replaced file remains until the folder is synced', () => {
  const other: Step = { type: 'write', path: '/d/new', offset: 0, bytes: Buffer.from('new') }
  const disk = diskAfter(write(0, 'old'), sync, syncNames, other, { type: 'sync', path: '/d/new' })
  disk.apply({ type: 'rename', from: '/d/new', to: path })
  expect(disk.image('none')).toEqual(new Map([[path, Buffer.from('old')]]))
  disk.apply(syncNames)
  expect(disk.image('none')).toEqual(new Map([[path, Buffer.from('new')]]))
})
