import { execFileSync } from 'node:child_process'
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import forge from 'node-forge'
import { describe, expect, test } from 'vitest'
import { loadCertificate } from '../../../src/adapters/credentials/certificate.ts'
import { openSocket } from '../../../src/adapters/http/transport.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createAuthority } from '../../../src/simulation/served/authority.ts'
import { serveHttps } from '../../../src/simulation/served/serve.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

const now = systemClock.now()
const dayMs = 86_400_000
const recorded = (name: string) => readFileSync(join(import.meta.dirname, '../../recordings/certificates', name))
const passphrase = 'senha'
const unusable = (words: string) => ({ code: 'MISCONFIGURED', message: expect.stringContaining(words) })

describe('certificates of every form are read', () => {
  test.each(['aes.pfx', 'rc2-40.pfx', 'ec.pfx'])('%s', async name => {
    const { cert, key, daysLeft } = await loadCertificate({ pfx: recorded(name), passphrase }, now)
    expect(cert).toContain('BEGIN CERTIFICATE')
    expect(createPrivateKey(key).type).toBe('private')
    expect(daysLeft).toBeGreaterThan(1_000)
  })

  test('PEM with an encrypted key', async () => {
    const { cert, key } = await (await createAuthority(now)).issueClient('x')
    const cipher = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase } as const
    const encrypted = createPrivateKey(key).export(cipher).toString()
    expect((await loadCertificate({ cert, key: encrypted, passphrase }, now)).key).not.toContain('ENCRYPTED')
    const wrong = loadCertificate({ cert, key: encrypted, passphrase: 'outra' }, now)
    await expect(wrong).rejects.toMatchObject(unusable('its passphrase is wrong'))
    const missing = loadCertificate({ cert, key: encrypted }, now)
    await expect(missing).rejects.toMatchObject(unusable('its passphrase is missing'))
  })
})

test.each(['aes.pfx', 'rc2-40.pfx'])('a wrong passphrase and a broken file of %s give different errors', async name => {
  const pfx = recorded(name)
  const wrong = loadCertificate({ pfx, passphrase: 'outra' }, now)
  await expect(wrong).rejects.toMatchObject(unusable('passphrase is wrong'))
  const broken = loadCertificate({ pfx: pfx.subarray(0, 500), passphrase }, now)
  await expect(broken).rejects.toMatchObject(unusable('PKCS#12 file cannot be read'))
})

test('a PKCS#12 file with the chain first is put in order', async () => {
  const { cert, key } = await loadCertificate({ pfx: recorded('aes.pfx'), passphrase }, now)
  const issuerKeys = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const issuer = forge.pki.createCertificate()
  issuer.publicKey = forge.pki.publicKeyFromPem(issuerKeys.publicKey.export({ type: 'spki', format: 'pem' }).toString())
  issuer.sign(forge.pki.privateKeyFromPem(issuerKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()))
  const chain = [issuer, forge.pki.certificateFromPem(cert)]
  const written = forge.pkcs12.toPkcs12Asn1(forge.pki.privateKeyFromPem(key), chain, passphrase)
  const pfx = Buffer.from(forge.asn1.toDer(written).getBytes(), 'latin1')
  const used = await loadCertificate({ pfx, passphrase }, now)
  expect(used.cert.startsWith(cert)).toBe(true)
  expect(used.cert.match(/BEGIN CERTIFICATE/g)).toHaveLength(2)
})

test('a PEM text with the chain first is put in order', async () => {
  const authority = await createAuthority(now)
  const { cert, key } = await authority.issueClient('x')
  const used = await loadCertificate({ cert: `${authority.ca}\n${cert}`, key }, now)
  expect(new X509Certificate(used.cert).subject).toBe('CN=x')
  expect(used.cert.match(/BEGIN/g)).toHaveLength(2)
})

/** Writes a PKCS#12 file with the installed openssl. */
async function exportByOpenssl(cert: string, key: string, passphrase: string, how: string[] = []): Promise<Buffer> {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries({ cert, key })) writeFileSync(join(folder, name), text)
  const flags = ['-export', '-in', 'cert', '-inkey', 'key', '-passout', `pass:${passphrase}`, '-out', 'pfx', ...how]
  execFileSync('openssl', ['pkcs12', ...flags], { cwd: folder, stdio: 'pipe' })
  return readFileSync(join(folder, 'pfx'))
}

test.each(['senha-ção', 'senha€'])('a passphrase that is not ASCII opens its file: %s', async given => {
  const { cert, key } = await (await createAuthority(now)).issueClient('x')
  const pfx = await exportByOpenssl(cert, key, given)
  expect(new X509Certificate((await loadCertificate({ pfx, passphrase: given }, now)).cert).subject).toBe('CN=x')
  const wrong = loadCertificate({ pfx, passphrase: `${given}x` }, now)
  await expect(wrong).rejects.toMatchObject(unusable('its passphrase is wrong'))
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

test('of several certificates of one key, the valid one that expires last is used', async () => {
  const { key, issue } = createIssuer()
  const [former, present, next] = [issue(-365, -1), issue(-100, 265), issue(30, 395)]
  const pfx = await exportByOpenssl(former + present, key, passphrase)
  expect((await loadCertificate({ pfx, passphrase }, now)).daysLeft).toBe(265)
  const used = await loadCertificate({ cert: former + next + present, key }, now)
  expect([used.daysLeft, used.notBefore]).toEqual([265, undefined])
})

test('a certificate with another PEM label is read', async () => {
  const { key, issue } = createIssuer()
  const [own, ...others] = [issue(-1, 100), createIssuer().issue(-1, 300), createIssuer().issue(-1, 300)]
  const labelled = own?.replaceAll('CERTIFICATE', 'X509 CERTIFICATE') ?? ''
  expect((await loadCertificate({ cert: others.join('') + labelled, key }, now)).daysLeft).toBe(100)
})

test('a certificate that expires in 20 days is reported once, when it is used', async () => {
  const authority = await createAuthority(now - 345 * dayMs)
  const issued = await authority.issueServer(['localhost'])
  const server = closeAtEnd(await serveHttps(async () => new Response('ok'), { ...issued, clientCa: authority.ca }))
  const reported: number[] = []
  const socket = closeAtEnd(
    openSocket({
      clock: systemClock,
      ca: authority.ca,
      certificate: await authority.issueClient('x'),
      onExpiring: daysLeft => void reported.push(daysLeft),
    }),
  )
  for (let i = 0; i < 2; i++) await socket.fetch(new Request(`https://localhost:${server.port}/`))
  expect(reported).toEqual([expect.any(Number)])
  expect(reported[0]).toBeGreaterThanOrEqual(18)
  expect(reported[0]).toBeLessThanOrEqual(20)
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

test('the certificate of a legacy PKCS#12 file is presented over TLS', async () => {
  const pem = await loadCertificate({ pfx: recorded('rc2-40.pfx'), passphrase }, now)
  const authority = await createAuthority(now)
  const names: (string | undefined)[] = []
  const issued = await authority.issueServer(['localhost'])
  const server = closeAtEnd(
    await serveHttps(
      async (_, { clientName }) => {
        names.push(clientName)
        return new Response('ok')
      },
      // Self-signed: it is its own authority.
      { ...issued, clientCa: pem.cert },
    ),
  )
  const certificate = { pfx: recorded('rc2-40.pfx'), passphrase }
  const socket = closeAtEnd(openSocket({ clock: systemClock, ca: authority.ca, certificate }))
  expect((await socket.fetch(new Request(`https://localhost:${server.port}/`))).status).toBe(200)
  expect(names).toEqual(['gestora a1'])
})
