import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import forge from 'node-forge'
import { expect, test } from 'vitest'
import { loadCertificate } from '../../../src/adapters/credentials/certificate.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { authority } from '../../support/over-tls.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

/** Which forms are read, and what is said of wrong ones, is shown by test/package/certificates-on-a-runtime.ts. */

const now = systemClock.now()
const dayMs = 86_400_000
const passphrase = 'senha'

test('a PKCS#12 file with the chain first is put in order', async () => {
  const [cert, issuer] = [issue(-1, 100), issueOther(-1, 300)]
  const chain = [issuer, cert].map(pem => forge.pki.certificateFromPem(pem))
  const written = forge.pkcs12.toPkcs12Asn1(forge.pki.privateKeyFromPem(key), chain, passphrase)
  // A string has a byte in each character.
  const pfx = forge.asn1.toDer(written).getBytes()
  const used = await loadCertificate({ pfx, passphrase }, now)
  expect(new X509Certificate(used.cert).raw).toEqual(new X509Certificate(cert).raw)
  expect(used.cert.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
})

test('a PEM text with the chain first is put in order', async () => {
  const { cert, key } = await authority.issueClient('x')
  const curve = '-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----'
  const used = await loadCertificate({ cert: `${curve}\n${authority.ca}\n${cert}`, key }, now)
  expect(new X509Certificate(used.cert).subject).toBe('CN=x')
  expect(used.cert.match(/BEGIN/g)).toHaveLength(2)
})

/** Writes a PKCS#12 file with the installed openssl. */
function exportByOpenssl(cert: string, key: string, passphrase: string): Buffer {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries({ cert, key })) writeFileSync(join(folder, name), text)
  const flags = ['-export', '-in', 'cert', '-inkey', 'key', '-passout', `pass:${passphrase}`, '-out', 'pfx']
  execFileSync('openssl', ['pkcs12', ...flags], { cwd: folder, stdio: 'pipe' })
  return readFileSync(join(folder, 'pfx'))
}

test.each(['senha-ção', 'senha€'])('a passphrase that is not ASCII opens its file: %s', async given => {
  const { cert, key } = await authority.issueClient('x')
  const pfx = exportByOpenssl(cert, key, given)
  expect(new X509Certificate((await loadCertificate({ pfx, passphrase: given }, now)).cert).subject).toBe('CN=x')
  const wrong = { code: 'MISCONFIGURED', message: expect.stringContaining('its passphrase is wrong') }
  await expect(loadCertificate({ pfx, passphrase: `${given}x` }, now)).rejects.toMatchObject(wrong)
})

/** Issues certificates of one key. `issue` takes their validity in days from now. */
function createIssuer() {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const publicKey = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString()
  let serial = 0
  const issue = (fromDays: number, toDays: number) => {
    const cert = forge.pki.createCertificate()
    serial += 1
    cert.publicKey = forge.pki.publicKeyFromPem(publicKey)
    cert.serialNumber = `0${serial}`
    cert.validity.notBefore = new Date(now + fromDays * dayMs)
    cert.validity.notAfter = new Date(now + (toDays + 0.5) * dayMs)
    cert.setSubject([{ name: 'commonName', value: `number ${serial}` }])
    cert.sign(forge.pki.privateKeyFromPem(key), forge.md.sha256.create())
    return forge.pki.certificateToPem(cert)
  }
  return { key, issue }
}

const { key, issue } = createIssuer()
const { issue: issueOther } = createIssuer()

test('of several certificates of one key, the valid one that expires last is used', async () => {
  const [former, present, next] = [issue(-365, -1), issue(-100, 265), issue(30, 395)]
  const pfx = exportByOpenssl(former + present, key, passphrase)
  expect((await loadCertificate({ pfx, passphrase }, now)).daysLeft).toBe(265)
  const used = await loadCertificate({ cert: former + next + present, key }, now)
  expect([used.daysLeft, used.notBefore]).toEqual([265, undefined])
  // Also when it has another PEM label.
  const labelled = issue(-1, 100).replaceAll('CERTIFICATE', 'X509 CERTIFICATE')
  const others = issueOther(-1, 300) + issueOther(-1, 300)
  expect((await loadCertificate({ cert: others + labelled, key }, now)).daysLeft).toBe(100)
})

test('the log says that the client certificate ends soon', async () => {
  const certificate = await (await createAuthority(now - 344.5 * dayMs)).issueClient('x')
  const lines: unknown[] = []
  const averba = await openEngine({
    store: ':memory:',
    consentService: { baseUrl: 'https://localhost:1', certificate },
    logger: line => void lines.push(line),
  })
  const subject = await averba.consents.enrol({ cpf: '25774435016' })
  expect((await averba.consents.sync({ subject })).status).toBe('deferred')
  expect(lines).toMatchObject([{ message: 'the client certificate expires soon: renew it', daysLeft: 20 }])
})
