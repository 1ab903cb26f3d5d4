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
  writeFileSync(join(folder, 'ca.pem'), first.ca)
  const verify = (purpose: string, { cert }: { cert: string }) => {
    writeFileSync(join(folder, 'x.pem'), cert)
    const args = ['verify', '-x509_strict', '-purpose', purpose, '-CAfile', 'ca.pem', 'x.pem']
    return execFileSync('openssl', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  }
  const server = await first.issueServer(['localhost', '*.exemplo.br', '127.0.0.1'])
  const client = await again.issueClient('gestora de ação')
  expect(verify('sslserver', server)).toBe('x.pem: OK\n')
  expect(verify('sslclient', client)).toBe('x.pem: OK\n')
  expect(() => verify('sslclient', server)).toThrow(/unsuitable certificate purpose/)
  const expired = await first.issueExpiredServer(['localhost'])
  expect(() => verify('sslserver', expired)).toThrow(/certificate has expired/)
  const foreign = await (await createAuthority(now)).issueServer(['localhost'])
  expect(() => verify('sslserver', foreign)).toThrow()

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
