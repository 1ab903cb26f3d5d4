import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkLog } from './check-log.ts'
import { startChild } from './child.ts'
import { logName, Scratch } from './scratch.ts'
import { quickly, straceTo, whyNoTracing } from './strace.ts'

test('a copy of the keyring that cannot be removed is an error with a code, and the log opens after it', async () => {
  const why = whyNoTracing()
  if (why) return console.warn(`a copy of the keyring: not run: ${why}`)
  const scratch = new Scratch()
  const path = join(scratch.folder(), logName)
  // SQLite removes its journal first.
  const inject = [quickly, '-e', 'inject=unlink:error=EIO:when=2']
  const under = [...straceTo(scratch.folder()), ...inject]
  const { said } = await startChild('load-store.ts', { path, seed: 1, callers: 1, appends: 1 }, under).ended
  expect(said.map(each => each.said)).toEqual(['failed', 'opened', 'acknowledged', 'closed'])
  expect(said[0]).toMatchObject({ code: 'STORE_UNSAFE' })
  const acknowledged = said.filter(each => each.said === 'acknowledged')
  expect(await checkLog(path, acknowledged)).toEqual({ lost: [], corrupt: [] })
  scratch.remove()
})
