import { createServer } from 'node:http'
import { type Averba, AverbaError } from '../index.ts'
import { listen } from '../vocabulary/listen.ts'
import type { Metrics } from './metrics.ts'

export interface StatusServer {
  readonly port: number
  /** Stops the server and ends its open connections. */
  close(): Promise<void>
}

interface StatusAnswer {
  readonly status: number
  /** An object is sent as JSON. */
  readonly body: object | string
  readonly contentType?: string
}

/**
 * Serves answers by path over HTTP. Accepts only GET and HEAD.
 *
 * @throws {AverbaError} `MISCONFIGURED` when it cannot listen on the address
 */
export async function serveStatus(
  { host, port }: { readonly host: string; readonly port: number },
  answers: Readonly<Record<string, () => Promise<StatusAnswer>>>,
): Promise<StatusServer> {
  // A connection that sends nothing ends within seconds: it must not keep a probe out.
  const times = { headersTimeout: 2_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 }
  const server = createServer({ ...times, maxHeaderSize: 8_192 }, (incoming, outgoing) => {
    const send = ({ status, body, contentType = 'application/json' }: StatusAnswer) => {
      const text = typeof body === 'string' ? body : `${JSON.stringify(body)}\n`
      outgoing.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' })
      outgoing.end(incoming.method === 'HEAD' ? undefined : text)
    }
    const [path = ''] = (incoming.url ?? '').split('?')
    const answer = Object.hasOwn(answers, path) ? answers[path] : undefined
    if (!answer) return send({ status: 404, body: { paths: Object.keys(answers) } })
    if (incoming.method !== 'GET' && incoming.method !== 'HEAD') {
      outgoing.setHeader('allow', 'GET, HEAD')
      return send({ status: 405, body: { methods: ['GET', 'HEAD'] } })
    }
    // An error here is a bug, and its message may hold personal data.
    answer().then(send, () => send({ status: 500, body: { error: 'it failed' } }))
  })
  server.maxConnections = 100
  const hint = 'Set run.host and run.port to a free address'
  const fail = (code: string, cause: unknown) =>
    new AverbaError('MISCONFIGURED', `Cannot listen on ${host}:${port} (${code})`, { cause, hint })
  return {
    port: await listen(server, { port, host }, fail),
    close: () => new Promise(done => void server.close(() => done()).closeAllConnections()),
  }
}

/** Creates the answers for probes and scrapers: whether the process is alive, whether it is ready, and its metrics. */
export function createProbes(
  averba: Averba,
  metrics: Metrics,
  stopping: AbortSignal,
): Record<string, () => Promise<StatusAnswer>> {
  return {
    async '/healthz'() {
      const { checks } = await averba.health({ only: ['store'] })
      const isAlive = checks.every(each => each.ok)
      return { status: isAlive ? 200 : 503, body: { alive: isAlive, checks } }
    },
    async '/readyz'() {
      if (stopping.aborted) return { status: 503, body: { ready: false, reasons: ['it is stopping'] } }
      const { ready, checks, reasons } = await averba.health()
      return { status: ready ? 200 : 503, body: { ready, reasons, checks } }
    },
    async '/metrics'() {
      return { status: 200, body: await metrics.scrape(), contentType: metrics.contentType }
    },
  }
}
