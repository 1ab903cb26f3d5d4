import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Steps } from '../../src/store/database/connection.ts'
import { Snapshot } from '../../src/store/database/snapshot.ts'
import { exportLog } from '../../src/store/files/export-log.ts'
import { refuses } from '../support/refuses.ts'
import { makeSampleStore } from '../support/sample-store.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a bundle of another export that began in the meantime is left unchanged', async () => {
  const dir = join(temporaryFolder(), 'bundle')
  const snapshot = await Snapshot.open(await makeSampleStore(2))
  const late = {
    name: 'log',
    async read<T>(steps: () => Steps<T>): Promise<T> {
      mkdirSync(dir, { recursive: true })
      writeFileSync(join(dir, 'key'), 'of the other')
      return snapshot.read(steps)
    },
  }
  const exporting = exportLog(late as unknown as Snapshot, dir) // It needs no more of one.
  await refuses('STORE_UNSAFE', exporting, { message: expect.stringContaining('EEXIST') })
  await snapshot.close()
  expect(readdirSync(dir)).toEqual(['key'])
  expect(readFileSync(join(dir, 'key'), 'utf8')).toBe('of the other')
})
