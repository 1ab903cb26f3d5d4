import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { addressOf } from './postgres-server.ts'
import { temporaryFolder } from './temporary-folder.ts'

/**
 * Where a proxy cuts a connection: a message passes as far as before or behind the proxy, or reaches the server only
 * after the client has seen the end of the connection.
 */
export type Cut = 'before' | 'behind' | 'late'

/**
 * Stands between clients and a PostgreSQL server, on a socket of its own. It cuts connections at a commit: before the
 * server gets it, or behind it, so that the server commits and the client never knows.
 */
export class CuttingProxy {
  cuts = 0
  /** No answer passes. */
  isSilent = false
  /** Decides for each commit whether the connection is cut there. */
  onCommit: () => Cut | undefined = () => undefined
  readonly #folder = temporaryFolder()
  readonly url = addressOf(this.#folder)
  readonly #server = createServer()
  readonly #sockets = new Set<Socket>()

  /** @param folder the folder of the server's socket */
  static async start(folder: string): Promise<CuttingProxy> {
    const proxy = new CuttingProxy()
    proxy.#server.on('connection', client => proxy.#join(client, connect(join(folder, '.s.PGSQL.5432'))))
    proxy.#server.listen(join(proxy.#folder, '.s.PGSQL.5432'))
    await once(proxy.#server, 'listening')
    return proxy
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #join(client: Socket, server: Socket): void {
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => this.#sockets.delete(socket))
    }
    const onClose = () => server.destroy()
    client.on('close', onClose)
    server.on('close', () => client.destroy())
    client.on('data', (data: Buffer) => {
      const cut = isCommit(data) ? this.onCommit() : undefined
      if (cut) this.cuts += 1
      if (cut === 'late') {
        client.off('close', onClose)
        setTimeout(() => server.end(data), lateMs)
        client.destroy()
      } else if (cut === 'before') client.destroy()
      else server.write(data)
      // The server works on: it notices that the client is gone when it answers.
      if (cut === 'behind') client.destroy()
    })
    server.on('data', (data: Buffer) => this.isSilent || client.write(data))
  }
}

/** How long after the end of its connection a message still reaches the server. */
const lateMs = 100

/** A simple query with the text `commit`. */
function isCommit(data: Buffer): boolean {
  return data.includes('Q\0\0\0\x0bcommit\0')
}
