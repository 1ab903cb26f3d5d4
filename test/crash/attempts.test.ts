import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openWorld } from '../support/world.ts'

test.each([
  ['a change', 'PUT ', 'consentService.changeStatus'],
  ['a paid validation', '/validate/', 'validationService.validatePerson'],
])('an attempt at %s is durable before its request is sent', async (_, address, type) => {
  const path = temporaryStore()
  const script = join(import.meta.dirname, 'die-sending.ts')
  const options = JSON.stringify({ path, address })
  const child = spawnSync(process.execPath, ['--conditions=averba-source', script, options])
  expect(child.signal).toBe('SIGKILL')

  const world = await openWorld({ seed: 2, averba: { store: path } })
  const { averba, clock } = world
  const [started] = await averba.effects.list({ state: 'started' })
  expect(started).toMatchObject({ type, attempts: 1 })
  const attempts = await Array.fromAsync(averba.log.read({ types: ['effect.attempted'] }), event => event.data)
  expect(attempts).toContainEqual({ effect: started?.id, type, attempts: 1 })
  // The killed process may still hold the lease, so no request is sent before it ends.
  expect(await averba.settle()).toEqual({ settled: 0, deferred: 0, unknown: 0 })
  await clock.advance(61_000)
  // After the lease no request is sent either, because the first one may have been done.
  const { unknown } = await averba.settle()
  expect(unknown).toBe(1)
  expect(world.requests.filter(each => `${each.method} ${each.path}`.includes(address))).toEqual([])
})
