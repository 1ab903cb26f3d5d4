import { AverbaError } from '../../vocabulary/errors.ts'
import { dayMs, hourMs } from '../../vocabulary/instant.ts'
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'

/** A certificate with its key, as PEM text. */
export interface IssuedCertificate {
  readonly cert: string
  readonly key: string
}

/** A private certificate authority for simulated services and their clients. */
export type Authority = Awaited<ReturnType<typeof createAuthority>>

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const serverAuth = '1.3.6.1.5.5.7.3.1'
const clientAuth = '1.3.6.1.5.5.7.3.2'

/** An authority for ten years, new or `saved`. Its certificates are valid from a day before `now` for a year. */
export async function createAuthority(
  now: number,
  authorityName = 'averba simulated authority',
  saved?: IssuedCertificate,
) {
  const crypto = webcrypto as unknown as Crypto // The same interface under two declarations.
  const notBefore = new Date(now - dayMs)
  const notAfter = new Date(now + 365 * dayMs)
  const createKeys = () => crypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  const exportKey = async (key: CryptoKey) =>
    `${PemConverter.encode(await crypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY')}\n`
  const createRoot = async () => {
    const keys = await createKeys()
    const root = await X509CertificateGenerator.createSelfSigned(
      {
        name: `CN=${authorityName}`,
        notBefore,
        notAfter: new Date(now + 3_650 * dayMs),
        signingAlgorithm: algorithm,
        keys,
        extensions: [
          new BasicConstraintsExtension(true, 0, true),
          new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
        ],
      },
      crypto,
    )
    return { root, privateKey: keys.privateKey }
  }
  const readRoot = async ({ cert, key }: IssuedCertificate) => {
    const pkcs8 = PemConverter.decodeFirst(key)
    return {
      root: new X509Certificate(cert),
      privateKey: await crypto.subtle.importKey('pkcs8', pkcs8, algorithm, true, ['sign']),
    }
  }
  const { root, privateKey } = await (saved ? readRoot(saved) : createRoot()).catch((cause: unknown) => {
    const hint = 'Give what was saved, unchanged'
    throw new AverbaError('INVALID_INPUT', 'Cannot read the saved authority', { cause, hint })
  })

  const issue = async (cn: string, usage: string, names: readonly string[], until = notAfter) => {
    const own = await createKeys()
    const cert = await X509CertificateGenerator.create(
      {
        subject: `CN=${cn}`,
        issuer: root.subject,
        notBefore,
        notAfter: until,
        signingAlgorithm: algorithm,
        publicKey: own.publicKey,
        signingKey: privateKey,
        extensions: [
          new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
          new ExtendedKeyUsageExtension([usage]),
          ...(names.length > 0 ? [new SubjectAlternativeNameExtension(names.map(toAlternativeName))] : []),
        ],
      },
      crypto,
    )
    return { cert: cert.toString('pem'), key: await exportKey(own.privateKey) }
  }

  return {
    /** Its certificate, as PEM text, for the trust store of the others. */
    ca: root.toString('pem'),
    /** What another process goes on with. */
    save: async (): Promise<IssuedCertificate> => ({ cert: root.toString('pem'), key: await exportKey(privateKey) }),
    /** Issues a server certificate for DNS names and IP addresses. */
    issueServer: (names: readonly string[]) => issue(names[0] ?? 'localhost', serverAuth, names),
    /** Issues a server certificate that expired an hour before the authority was created. */
    issueExpiredServer: (names: readonly string[]) =>
      issue(names[0] ?? 'localhost', serverAuth, names, new Date(now - hourMs)),
    /** Issues a client certificate; the simulated services identify the client by this name. */
    issueClient: (clientName: string) => issue(clientName, clientAuth, []),
    /** Issues a client certificate that expired an hour before the authority was created. */
    issueExpiredClient: (clientName: string) => issue(clientName, clientAuth, [], new Date(now - hourMs)),
  }
}

function toAlternativeName(name: string): { type: 'ip' | 'dns'; value: string } {
  return { type: /^[\d.]+$/.test(name) ? 'ip' : 'dns', value: name }
}
