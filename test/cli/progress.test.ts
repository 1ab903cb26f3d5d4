import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createProgress, createStoppableProgress } from '../../src/cli/progress.ts'
import { backupStore } from '../../src/index.ts'
import { makeSampleStore } from '../support/sample-store.ts'
import { temporaryStore } from '../support/temporary-folder.ts'

test('a terminal shows a bar until the work is done; other outputs show nothing', () => {
  const shownBy = (isTTY: boolean, what: string, counts: readonly number[], end: number) => {
    const written: string[] = []
    const show = createProgress({
      stderr: Object.assign(new PassThrough(), { isTTY, write: written.push.bind(written) }),
    })
    for (const done of counts) show(what, done, end)
    return written
  }
  expect(shownBy(true, 'consents', [0, 1, 250, 251, 999, 1_000], 1_000)).toEqual([
    '\r\x1b[K[------------------------]   0 % consents',
    '\r\x1b[K[######------------------]  25 % consents',
    '\r\x1b[K[#######################-]  99 % consents',
    '\r\x1b[K',
  ])
  expect(shownBy(true, 'backup', [0], 0)).toEqual(['\r\x1b[K'])
  expect(shownBy(false, 'consents', [1], 2)).toEqual([])
})

test('a copy that a signal ends leaves no file behind', async () => {
  const store = await makeSampleStore(30)
  const to = temporaryStore()
  const stopping = new AbortController()
  const show = createStoppableProgress({ stderr: new PassThrough(), stopSignal: () => stopping.signal })
  let steps = 0
  const backing = backupStore({
    store,
    to,
    onProgress(...how) {
      steps += 1
      if (steps === 2) stopping.abort('SIGTERM')
      show(...how)
    },
  })
  await expect(backing).rejects.toMatchObject({ message: 'Ended by SIGTERM: no file was made' })
  expect(readdirSync(dirname(to))).toEqual([])
})
