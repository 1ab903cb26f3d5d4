/**
 * How every runtime has to treat certificates: each form is presented over TLS, each mistake is reported in its own
 * words, and one is rotated. Prints the results as one JSON object.
 */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Certificate, loadCertificate } from '../../src/adapters/credentials/certificate.ts'
import { openSocket } from '../../src/adapters/http/transport.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { VirtualClock } from '../../src/simulation/index.ts'
import { createAuthority } from '../../src/simulation/served/authority.ts'
import { type Peer, serveHttps } from '../../src/simulation/served/serve.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'

const now = systemClock.now()
const dayMs = 86_400_000
const recorded = (name: string) => readFileSync(join(import.meta.dirname, '../recordings/certificates', name))
const passphrase = 'senha'
const authority = await createAuthority(now)
const client = await authority.issueClient('gestora pem')
const other = await authority.issueClient('gestora nova')
const cipher = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase } as const
const encrypted = { cert: client.cert, key: createPrivateKey(client.key).export(cipher).toString() }

/** A server that trusts `clientCa`, and the names of the clients that it reads. */
async function startServer(clientCa: string) {
  const names: (string | undefined)[] = []
  const answer = async (_: Request, { clientName }: Peer) => {
    names.push(clientName)
    return new Response('ok')
  }
  const server = await serveHttps(answer, { ...(await authority.issueServer(['localhost'])), clientCa })
  return { names, close: server.close, request: () => new Request(`https://localhost:${server.port}/`) }
}

/** The client name that a server reads when it trusts `clientCa`. */
async function presented(certificate: Certificate, clientCa: string): Promise<string | undefined> {
  const { names, request, close } = await startServer(clientCa)
  const socket = openSocket({ clock: systemClock, ca: authority.ca, certificate })
  await socket.fetch(request())
  await socket.close()
  await close()
  return names[0]
}

/** A self-signed certificate is its own authority. */
async function presentedPfx(name: string): Promise<string | undefined> {
  const certificate = { pfx: recorded(name), passphrase }
  return presented(certificate, (await loadCertificate(certificate, now)).cert)
}

async function wordsFor(certificate: Certificate): Promise<string> {
  const error: unknown = await loadCertificate(certificate, now).catch(error => error)
  return error instanceof AverbaError ? `${error.code}: ${error.message}` : 'usable'
}

async function daysTold(certificate: Certificate): Promise<number[]> {
  const told: number[] = []
  const onExpiring = (daysLeft: number) => void told.push(daysLeft)
  const socket = openSocket({ clock: systemClock, ca: authority.ca, certificate, onExpiring })
  // No server listens there: the certificate is checked before the connection. The second request tells nothing more.
  for (const _ of [1, 2]) await socket.fetch(new Request('https://localhost:1/')).catch(() => undefined)
  await socket.close()
  return told
}

/** The client names that a server reads before and after a rotation, without a restart. */
async function rotated(): Promise<(string | undefined)[]> {
  const { names, request, close } = await startServer(authority.ca)
  const clock = new VirtualClock(new Date().toISOString())
  let certificate = client
  const socket = openSocket({ clock, ca: authority.ca, certificate: () => certificate })
  await socket.fetch(request())
  certificate = other
  await clock.advance(60_000)
  await socket.fetch(request())
  await socket.close()
  await close()
  return names
}

console.log(
  JSON.stringify({
    presented: {
      pem: await presented(client, authority.ca),
      encryptedPem: await presented({ ...encrypted, passphrase }, authority.ca),
      aes: await presentedPfx('aes.pfx'),
      rc2: await presentedPfx('rc2-40.pfx'),
      ec: await presentedPfx('ec.pfx'),
    },
    words: {
      wrongPassphrase: await wordsFor({ ...encrypted, passphrase: 'outra' }),
      noPassphrase: await wordsFor(encrypted),
      wrongPassphraseOfAes: await wordsFor({ pfx: recorded('aes.pfx'), passphrase: 'outra' }),
      wrongPassphraseOfRc2: await wordsFor({ pfx: recorded('rc2-40.pfx'), passphrase: 'outra' }),
      brokenAes: await wordsFor({ pfx: recorded('aes.pfx').subarray(0, 500), passphrase }),
      brokenRc2: await wordsFor({ pfx: recorded('rc2-40.pfx').subarray(0, 500), passphrase }),
      otherKey: await wordsFor({ cert: client.cert, key: other.key }),
      brokenKey: await wordsFor({ cert: client.cert, key: 'x', passphrase }),
      brokenCertificate: await wordsFor({ ...client, cert: 'x' }),
      expired: await wordsFor(await (await createAuthority(0)).issueClient('x')),
    },
    endsInTwentyDays: await daysTold(await (await createAuthority(now - 344.5 * dayMs)).issueClient('x')),
    rotated: await rotated(),
  }),
)
