import { expect, test } from 'vitest'
import { startCommand } from '../../support/command-line.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('averba simulate stops at a signal that comes while it starts', async () => {
  const command = startCommand(['simulate', '--dir', `${temporaryFolder()}/sim`])
  // Its certificates are not made yet.
  await Promise.resolve()
  command.stop('SIGTERM')
  expect(await command.ended).toMatchObject({ code: 0, err: '' })
})
