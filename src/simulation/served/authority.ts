import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto'
import { AverbaError } from '../../vocabulary/errors.ts'
import { dayMs, hourMs } from '../../vocabulary/instant.ts'
import { extension, type Issuer, nameOf, subjectOf, writeCertificate } from './write-certificate.ts'

/** A certificate with its key, as PEM text. */
export interface IssuedCertificate {
  readonly cert: string
  readonly key: string
}

const serverAuth = '1.3.6.1.5.5.7.3.1'
const clientAuth = '1.3.6.1.5.5.7.3.2'

/** An authority for ten years, new or `saved`. Its certificates are valid from a day before `now` for a year. */
export async function createAuthority(
  now: number,
  authorityName = 'averba simulated authority',
  saved?: IssuedCertificate,
) {
  const notBefore = new Date(now - dayMs)
  const notAfter = new Date(now + 365 * dayMs)
  const root = saved ? readRoot(saved) : createRoot(authorityName, notBefore, new Date(now + 3_650 * dayMs))

  const issue = (cn: string, usage: string, names: readonly string[], until = notAfter): IssuedCertificate => {
    const own = createKeys()
    const cert = writeCertificate({
      ...{ subject: nameOf(cn), publicKey: own.publicKey, notBefore, notAfter: until, issuer: root },
      extensions: [extension.digitalSignature, extension.usage(usage), ...extension.names(names)],
    })
    return { cert, key: exportKey(own.privateKey) }
  }

  return {
    /** Its certificate, as PEM text, for the trust store of the others. */
    ca: root.cert,
    /** What another process goes on with. */
    save: async (): Promise<IssuedCertificate> => ({ cert: root.cert, key: exportKey(root.privateKey) }),
    /** Issues a server certificate for DNS names and IP addresses. */
    issueServer: async (names: readonly string[]) => issue(names[0] ?? 'localhost', serverAuth, names),
    /** Issues a server certificate that expired an hour before the authority was created. */
    issueExpiredServer: async (names: readonly string[]) =>
      issue(names[0] ?? 'localhost', serverAuth, names, new Date(now - hourMs)),
    /** Issues a client certificate; the simulated services identify the client by this name. */
    issueClient: async (clientName: string) => issue(clientName, clientAuth, []),
    /** Issues a client certificate that expired an hour before the authority was created. */
    issueExpiredClient: async (clientName: string) => issue(clientName, clientAuth, [], new Date(now - hourMs)),
  }
}

function createKeys() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

function exportKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function createRoot(name: string, notBefore: Date, notAfter: Date): Issuer {
  const { publicKey, privateKey } = createKeys()
  const issuer = { name: nameOf(name), publicKey, privateKey }
  const extensions = [extension.authority, extension.signsCertificates]
  const cert = writeCertificate({ subject: issuer.name, publicKey, notBefore, notAfter, issuer, extensions })
  return { ...issuer, cert }
}

function readRoot({ cert, key }: IssuedCertificate): Issuer {
  try {
    const { raw, publicKey } = new X509Certificate(cert)
    return { name: subjectOf(raw), publicKey, privateKey: createPrivateKey(key), cert: `${cert.trim()}\n` }
  } catch (cause) {
    const hint = 'Give what was saved, unchanged'
    throw new AverbaError('INVALID_INPUT', 'Cannot read the saved authority', { cause, hint })
  }
}
