import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { RecordedEvent } from '../../src/vocabulary/message.ts'
import { closeAtEnd } from '../support/close-at-end.ts'
import { PostgresServer, withSchema } from '../support/postgres-server.ts'
import { Random } from '../support/random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { checkAcknowledged } from './check-log.ts'
import type { Header } from './check-tables.ts'
import { type Child, startChild } from './child.ts'
import { openStore } from './load.ts'

const server = await PostgresServer.start()
afterAll(() => server.stop())

const processes = 4
const kills = 4
const messagesMax = 30

test('four processes append to one log while each is killed and the server crashes: nothing acknowledged is lost or doubled', async () => {
  const path = withSchema(server.url, 'fleet')
  const keyring = join(temporaryFolder(), 'averba.keys')
  const random = new Random(11)
  const start = (seed: number) => startChild('load-store.ts', { path, keyring, callers: 8, seed })
  const running: Child[] = Array.from({ length: processes }, (_, i) => start(1 + i))
  const ended: Child[] = []
  for (let kill = 0; kill < kills; kill++) {
    const killed = running[kill % processes]
    await killed?.hasSent(1 + random.below(messagesMax))
    if (kill === kills / 2) await server.restart('SIGQUIT')
    killed?.process.kill('SIGKILL')
    if (killed) ended.push(killed)
    running[kill % processes] = start(1 + processes + kill)
  }
  await Promise.all(running.map(child => child.hasSent(messagesMax)))
  for (const child of running) child.process.kill('SIGKILL')
  ended.push(...running)
  const results = await Promise.all(ended.map(child => child.ended))
  const messages = results.flatMap(each => each.messages)
  expect(messages.filter(({ type }) => type === 'broken')).toEqual([])
  const acknowledged = messages.filter(message => message.type === 'acknowledged')
  expect(acknowledged.length).toBeGreaterThan(processes * messagesMax)

  const store = closeAtEnd(await openStore(path, 0, undefined, keyring))
  const events: RecordedEvent[] = []
  for (let page = await store.read({}); page.length > 0; page = await store.read({ after: events.length }))
    events.push(...page)
  expect(events.map(({ position }) => position)).toEqual(events.map((_, i) => i + 1))
  const headers = events as readonly RecordedEvent[] as readonly Header[] // Of the load, and the first one.
  expect(await checkAcknowledged(store, headers, acknowledged)).toEqual({ lost: [], corrupt: [] })
})
