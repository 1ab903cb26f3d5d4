/** Stops a server and ends its open connections. */
export function closeServer(server: { close(done: () => void): unknown; closeAllConnections(): void }): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
