import type { Server } from 'node:https'
import type { Duplex } from 'node:stream'
import { systemClock } from '../../runtime/clock.ts'

/** How long a client has to end its side of a connection. */
const endConnectionMs = 500

/** Tracks the connections of a server, and ends them so that the next request needs a new one. */
export class OpenConnections {
  /** The number of unfinished answers on each connection. */
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
   * Ends idle connections now, and the others after their answer. Resolves when the idle ones are closed: a request
   * sent then comes over a new connection.
   */
  async renew(): Promise<void> {
    const idle = [...this.#answering].filter(([, answers]) => answers === 0)
    for (const [socket] of this.#answering) this.#ending.add(socket)
    await Promise.all(idle.map(([socket]) => endConnection(socket)))
  }
}

/** Ends our side, waits a bounded real time for the client's, and then destroys the socket. */
async function endConnection(socket: Duplex): Promise<void> {
  if (socket.destroyed) return
  const closed = new AbortController()
  socket.once('close', () => closed.abort())
  socket.end()
  await systemClock.sleep(endConnectionMs, closed.signal)
  socket.destroy()
}
