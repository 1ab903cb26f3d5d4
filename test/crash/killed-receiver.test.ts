import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openSocket } from '../../src/adapters/http/transport.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createAuthority } from '../../src/simulation/served/authority.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine } from '../support/world.ts'
import { createNotification } from './notification-of.ts'

const senders = 8

test('a killed receiver keeps every notification that it answered 2xx, each once', async () => {
  const store = temporaryStore()
  const authority = await createAuthority(systemClock.now())
  const { cert, key } = await authority.issueServer(['localhost'])
  const acknowledged = new Set<string>()
  const sent = new Set<string>()
  for (const [round, killAfter] of [1, 7, 40].entries()) {
    const script = join(import.meta.dirname, 'serve-receiver.ts')
    const options = JSON.stringify({ store, cert, key })
    const child = spawn(process.execPath, ['--conditions=averba-source', script, options])
    const ended = once(child, 'exit')
    const [port] = (await once(child.stdout, 'data')).map(data => Number(String(data)))
    const socket = openSocket({ clock: systemClock, ca: authority.ca })
    let count = 0
    const sendOn = async (sender: number) => {
      for (let n = 0; !child.killed; n++) {
        const number = `26BR-${round}-${sender}-${n}`
        sent.add(number)
        const request = new Request(`https://localhost:${port}/averba`, createNotification(number))
        // The connection ends with the process.
        const answer = await socket.fetch(request).catch(() => undefined)
        if (answer?.status !== 200) continue
        acknowledged.add(number)
        count += 1
        if (count >= killAfter) child.kill('SIGKILL')
      }
    }
    await Promise.all(Array.from({ length: senders }, (_, sender) => sendOn(sender)))
    expect((await ended)[1]).toBe('SIGKILL')
    await socket.close()
  }
  expect(acknowledged.size).toBeGreaterThanOrEqual(48)
  const averba = await openEngine({ store })
  const stored = await Array.fromAsync(averba.notifications.list(), ({ body }) => (body as { numero: string }).numero)
  expect(new Set(stored).size).toBe(stored.length)
  expect([...acknowledged].filter(number => !stored.includes(number))).toEqual([])
  expect(stored.filter(number => !sent.has(number))).toEqual([])
})
