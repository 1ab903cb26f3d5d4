import { expect, test } from 'vitest'
import { Disk } from './disk.ts'
import { Random } from './random.ts'
import { readTrace, type Step } from './trace.ts'

const hex = (text: string) =>
  [...Buffer.from(text)].map(byte => `\\x${byte.toString(16).padStart(2, '0')}`).join('')
const path = '/d/log'
const write = (offset: number, text: string): Step => ({
  did: 'write',
  path,
  offset,
  bytes: Buffer.from(text),
})
const sync: Step = { did: 'sync', path }
const syncNames: Step = { did: 'sync', path: '/d' }

function diskAfter(...steps: Step[]): Disk {
  const disk = new Disk('/d')
  for (const step of steps) disk.apply(step)
  return disk
}

test('a trace is read call by call, with its data, and without what failed', () => {
  const lines = [
    `pwrite64(3<${hex('/d/log')}>, "${hex('abc')}", 3, 8) = 3`,
    `pwrite64(3<${hex('/d/log')}>, "${hex('abc')}", 3, 8) = -1 EIO (Input/output error) (INJECTED)`,
    `write(1<${hex('pipe:[7]')}>, "${hex('{"said":"opened"}\n')}", 18) = 18`,
    `ftruncate(3<${hex('/d/log')}>, 5) = 0`,
    `fsync(4<${hex('/d')}>) = 0`,
    `link("${hex('/d/a')}", "${hex('/d/b')}") = 0`,
    `unlink("${hex('/d/a')}") = 0`,
    '+++ exited with 0 +++',
  ]
  expect(readTrace(lines)).toEqual([
    { did: 'write', path, offset: 8, bytes: Buffer.from('abc') },
    { did: 'say', said: [{ said: 'opened' }] },
    { did: 'truncate', path, size: 5 },
    { did: 'sync', path: '/d' },
    { did: 'link', from: '/d/a', to: '/d/b' },
    { did: 'unlink', path: '/d/a' },
  ])
  expect(() => readTrace([`pwrite64(3<${hex('/d')}>, "${hex('a')}"..., 9, 8) = 9`])).toThrow(
    'cut the data short',
  )
})

test('what was synced is kept, and what was not may be there or not', () => {
  const disk = diskAfter(write(0, 'aaaa'), sync, syncNames, write(2, 'bbbb'))
  expect(disk.image('none')).toEqual(new Map([[path, Buffer.from('aaaa')]]))
  expect(disk.image('all')).toEqual(new Map([[path, Buffer.from('aabbbb')]]))
})

test('a name is certain once its folder was synced, and names come and go in order', () => {
  const linked: Step[] = [
    { did: 'write', path: '/d/new', offset: undefined, bytes: Buffer.from('a') },
    { did: 'sync', path: '/d/new' },
    { did: 'link', from: '/d/new', to: path },
    { did: 'unlink', path: '/d/new' },
  ]
  const disk = diskAfter(...linked)
  expect([...disk.image('none').keys()]).toEqual([])
  const seen = new Set(
    Array.from({ length: 50 }, (_, seed) => [...disk.image(new Random(seed)).keys()].join()),
  )
  expect([...seen].sort()).toEqual(['', '/d/log', '/d/new', '/d/new,/d/log'])
  expect([
    ...diskAfter(...linked, syncNames)
      .image('none')
      .keys(),
  ]).toEqual([path])
})

test('a long write is torn at sectors, and nowhere else', () => {
  const disk = diskAfter(write(0, '.'.repeat(2_048)), sync, syncNames, write(100, 'x'.repeat(1_500)))
  const images = Array.from(
    { length: 60 },
    (_, seed) => disk.image(new Random(seed)).get(path)?.toString() ?? '',
  )
  const sectors = images.map(image =>
    [0, 512, 1_024].map(from => image.slice(from, from + 512).includes('x')),
  )
  expect(new Set(sectors.map(String)).size).toBe(8)
  for (const image of images) {
    for (const [from, to] of [
      [100, 512],
      [512, 1_024],
      [1_024, 1_536],
    ]) {
      expect(new Set(image.slice(from, to)).size).toBe(1)
    }
  }
})

test('a file that is renamed has one name at any time, and what it replaced is there until the folder is synced', () => {
  const other: Step = { did: 'write', path: '/d/new', offset: 0, bytes: Buffer.from('new') }
  const disk = diskAfter(write(0, 'old'), sync, syncNames, other, { did: 'sync', path: '/d/new' })
  disk.apply({ did: 'rename', from: '/d/new', to: path })
  expect(new Map([...disk.image('none')].map(([name, bytes]) => [name, String(bytes)]))).toEqual(
    new Map([[path, 'old']]),
  )
  disk.apply(syncNames)
  expect(new Map([...disk.image('none')].map(([name, bytes]) => [name, String(bytes)]))).toEqual(
    new Map([[path, 'new']]),
  )
})
