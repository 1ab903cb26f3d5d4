import type { Server } from 'node:https'
import type { Duplex } from 'node:stream'
import { systemClock } from '../../runtime/clock.ts'

/** How long a client is given to end its side of a connection. */
const partingMs = 500

/** The connections of a server, which can be ended so that the next request needs a new one. */
export class OpenConnections {
  /** How many answers are under way on each. */
  readonly #answering = new Map<Duplex, number>()
  readonly #ending = new WeakSet<Duplex>()

  constructor(server: Server) {
    server.on('secureConnection', socket => {
      this.#answering.set(socket, 0)
      socket.once('close', () => this.#answering.delete(socket))
    })
    server.on('request', ({ socket }, answer) => {
      this.#answering.set(socket, (this.#answering.get(socket) ?? 0) + 1)
      answer.once('close', () => {
        const left = (this.#answering.get(socket) ?? 1) - 1
        this.#answering.set(socket, left)
        if (left === 0 && this.#ending.has(socket)) socket.end()
      })
    })
  }

  /**
   * Ends what is idle now, and the rest after its answer. Resolves when the clients have taken note of it: a
   * request that they send then comes over a new connection.
   */
  async renew(): Promise<void> {
    const idle = [...this.#answering].filter(([, answers]) => answers === 0)
    for (const [socket] of this.#answering) this.#ending.add(socket)
    await Promise.all(idle.map(([socket]) => part(socket)))
  }
}

/** Ends our side, and waits for the other for a bounded time: sockets count real time. */
async function part(socket: Duplex): Promise<void> {
  if (socket.destroyed) return
  const closed = new AbortController()
  socket.once('close', () => closed.abort())
  socket.end()
  await systemClock.sleep(partingMs, closed.signal)
  socket.destroy()
}
