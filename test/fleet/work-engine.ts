/** A child process that validates people with an engine of its own on a shared log, until it is killed. */
import { openAverba } from '../../src/index.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import { type LoadOptions, sendMessage } from '../crash/load.ts'
import { cpfOf } from '../support/cpf-of.ts'
import { fleetOptions } from './fleet-options.ts'

const { path, keyring = '', port = 0, aheadMs = 0, seed, callers } = JSON.parse(process.argv[2] ?? '') as LoadOptions // Written by the parent.

const now = Date.now.bind(Date)
Date.now = () => now() + aheadMs

const averba = await openAverba(fleetOptions(path, keyring, forward))
sendMessage({ type: 'opened' })
void averba.run({ signal: new AbortController().signal })
await Promise.all(Array.from({ length: callers }, (_, caller) => runCaller(caller)))

/** Sends a request to the services in the parent process. */
async function forward(request: Request): Promise<Response> {
  const { host, pathname, search } = new URL(request.url)
  const headers = new Headers(request.headers)
  headers.set('x-service', host)
  const body = request.body === null ? null : await request.arrayBuffer()
  return fetch(`http://127.0.0.1:${port}${pathname}${search}`, { method: request.method, headers, body })
}

async function runCaller(caller: number): Promise<void> {
  for (let n = 0; ; n++) {
    const id = `validation-${seed}-${caller}-${n}`
    const cpf = cpfOf((seed * 64 + caller) * 1_000 + n)
    try {
      const { status } = await averba.validations.validate({ id, cpf, claims: { nome: 'Maria de Exemplo' } })
      if (status === 'settled' || status === 'declined') sendMessage({ type: 'validated', id, cpf, status })
    } catch (error) {
      // The server is being restarted, or the clock is wrong.
      if (error instanceof AverbaError) sendMessage({ type: 'failed', code: error.code })
      else sendMessage({ type: 'broken', what: String(error) })
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
}
