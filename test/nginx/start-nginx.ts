import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { tryReach } from '../../src/adapters/http/try-reach.ts'
import { systemClock as clock } from '../../src/runtime/clock.ts'
import { freePort } from '../support/free-port.ts'
import { authority, own } from '../support/over-tls.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const temporaryFiles = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/**
 * Starts the nginx in the path for the current test: a `server` that ends the TLS on a port, with the certificate and
 * key of the files `server.crt` and `server.key` beside its configuration, and the authority in `clients.crt`.
 */
export async function startNginx(server: (port: number) => string) {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'logs'))
  const port = await freePort()
  const paths = temporaryFiles.map(kind => `${kind}_temp_path ${kind};`).join(' ')
  const main = 'daemon off; master_process off; pid pid; error_log logs/error.log notice; events {}'
  const files = {
    ...{ 'server.crt': own.cert, 'server.key': own.key, 'clients.crt': authority.ca },
    'nginx.conf': `${main}\nhttp {\naccess_log off; ${paths}\n${server(port)}\n}\n`,
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf')]
  const nginx = spawn('nginx', args, { stdio: ['ignore', 'ignore', 'inherit'] })
  onTestFinished(() => void nginx.kill('SIGKILL'))
  const url = `https://localhost:${port}/`
  // It says nothing once it listens: asks until it does.
  const listens = async (): Promise<boolean> => {
    const { detail } = await tryReach(url, { service: 'consentService', clock, ca: authority.ca })
    return detail.includes('ECONNREFUSED') ? listens() : true
  }
  expect(await Promise.race([once(nginx, 'exit').then(() => false), listens()])).toBe(true)
  return { url, errors: () => readFileSync(join(folder, 'logs/error.log'), 'utf8') }
}
