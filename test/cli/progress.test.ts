import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { createProgress, createStoppableProgress } from '../../src/cli/progress.ts'
import { backupStore } from '../../src/index.ts'
import { makeSampleStore, newPath } from '../store/sample-store.ts'

test('a terminal shows a bar until the work is done; other outputs show nothing', () => {
  const written: string[] = []
  const write = (text: string) => written.push(text)
  const show = createProgress({ isTTY: true, write })
  for (const done of [0, 1, 250, 251, 999, 1_000]) show('consents', done, 1_000)
  expect(written).toEqual([
    '\r\x1b[K[------------------------]   0 % consents',
    '\r\x1b[K[######------------------]  25 % consents',
    '\r\x1b[K[#######################-]  99 % consents',
    '\r\x1b[K',
  ])
  written.length = 0
  createProgress({ isTTY: true, write })('backup', 0, 0)
  expect(written).toEqual(['\r\x1b[K'])
  written.length = 0
  createProgress({ write })('consents', 1, 2)
  expect(written).toEqual([])
})

test('a copy that a signal ends leaves no file behind', async () => {
  const store = await makeSampleStore(30)
  const to = newPath()
  const show = createStoppableProgress({ write: () => undefined })
  let steps = 0
  const backing = backupStore({
    store,
    to,
    onProgress(...how) {
      steps += 1
      if (steps === 2) process.emit('SIGTERM')
      show(...how)
    },
  })
  await expect(backing).rejects.toMatchObject({ message: 'Ended by SIGTERM: no file was made' })
  expect(readdirSync(dirname(to))).toEqual([])
})
