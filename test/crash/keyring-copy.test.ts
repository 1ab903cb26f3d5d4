import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkLog } from './check-log.ts'
import { startChild } from './child.ts'
import { logName, Scratch } from './scratch.ts'
import { seccompFlag, straceCommand, whyTracingUnavailable } from './strace.ts'

test('a keyring copy that cannot be removed is an error with a code, and the log opens later', async () => {
  const reason = whyTracingUnavailable()
  if (reason) return console.warn(`a copy of the keyring: not run: ${reason}`)
  const scratch = new Scratch()
  const path = join(scratch.folder(), logName)
  // SQLite removes its journal first.
  const inject = [seccompFlag, '-e', 'inject=unlink:error=EIO:when=2']
  const under = [...straceCommand(scratch.folder()), ...inject]
  const { messages } = await startChild('load-store.ts', { path, seed: 1, callers: 1, appends: 1 }, under).ended
  expect(messages.map(each => each.type)).toEqual(['failed', 'opened', 'acknowledged', 'closed'])
  expect(messages[0]).toMatchObject({ code: 'STORE_UNSAFE' })
  const acknowledged = messages.filter(each => each.type === 'acknowledged')
  expect(await checkLog(path, acknowledged)).toEqual({ lost: [], corrupt: [] })
  scratch.remove()
})
