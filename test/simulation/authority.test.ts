import { execFileSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createAuthority } from '../../src/simulation/served/authority.ts'
import { dayMs } from '../../src/vocabulary/instant.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const now = Date.now()

test('a strict verifier accepts the certificates, those of an authority that goes on included, and no expired one', async () => {
  const first = await createAuthority(now)
  const again = await createAuthority(now, undefined, await first.save())
  expect(again.ca).toBe(first.ca)
  const folder = temporaryFolder()
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return name
  }
  const verify = (purpose: string, file: string) =>
    execFileSync('openssl', ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', 'ca.pem', file], {
      ...{ cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] },
    })
  write('ca.pem', first.ca)
  const server = await first.issueServer(['localhost', '*.exemplo.br', '127.0.0.1'])
  const client = await again.issueClient('gestora de ação')
  expect(verify('sslserver', write('server.pem', server.cert))).toBe('server.pem: OK\n')
  expect(verify('sslclient', write('client.pem', client.cert))).toBe('client.pem: OK\n')
  expect(() => verify('sslclient', 'server.pem')).toThrow(/unsuitable certificate purpose/)
  const expired = await first.issueExpiredServer(['localhost'])
  expect(() => verify('sslserver', write('expired.pem', expired.cert))).toThrow(/certificate has expired/)
  const other = await createAuthority(now)
  const foreign = await other.issueServer(['localhost'])
  expect(() => verify('sslserver', write('foreign.pem', foreign.cert))).toThrow()

  const parsed = new X509Certificate(server.cert)
  expect(parsed.subjectAltName).toBe('DNS:localhost, DNS:*.exemplo.br, IP Address:127.0.0.1')
  expect(parsed.checkPrivateKey(createPrivateKey(server.key))).toBe(true)
  expect(new X509Certificate(client.cert).subject).toBe('CN=gestora de ação')
})

test('times before and after 2050 are written as the standard says', async () => {
  const { ca } = await createAuthority(Date.parse('2045-06-01T00:00:00Z'))
  const { validFromDate, validToDate } = new X509Certificate(ca)
  expect(validFromDate.toISOString()).toBe('2045-05-31T00:00:00.000Z')
  expect(validToDate.getTime()).toBe(Date.parse('2045-06-01T00:00:00Z') + 3_650 * dayMs)
})
