import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Finds a port that was free a moment ago, and the four after it, for a program that cannot say which port it took.
 * They are below those that systems give out by themselves, so that nobody gets one before the program.
 */
export async function freePort(): Promise<number> {
  const first = randomInt(10_000, 32_000)
  for (let port = first; port < first + 5; port++) {
    const server = createServer().listen(port)
    const isFree = await once(server, 'listening').catch(() => undefined)
    if (isFree === undefined) return freePort()
    server.close()
    await once(server, 'close')
  }
  return first
}
