import { createPrivateKey, X509Certificate } from 'node:crypto'
import { AverbaError } from '../errors.ts'
import { type Pem, readPkcs12 } from './pkcs12.ts'

/** A certificate with its key: PEM texts, or PKCS#12 bytes. */
export type Certificate =
  | { readonly cert: string; readonly key: string; readonly passphrase?: string }
  | { readonly pfx: Uint8Array | string; readonly passphrase?: string }

/** A certificate that can be used, and how long. */
export interface UsableCertificate extends Pem {
  readonly daysLeft: number
}

const dayMs = 86_400_000

/**
 * Checks that a certificate can be used, and turns it into PEM: readable, not expired, and the key its own. TLS
 * libraries report each of these differently on every runtime, or not at all.
 *
 * @throws {AverbaError} `MISCONFIGURED`, in words
 */
export async function useCertificate(
  certificate: Certificate,
  now: number,
  whose: 'client' | 'server' = 'client',
): Promise<UsableCertificate> {
  const cannot = `Cannot use the ${whose} certificate`
  const pem = 'pfx' in certificate ? await readPfx(certificate, cannot) : readPem(certificate, cannot)
  const x509 = readPart(cannot, 'certificate', () => new X509Certificate(pem.cert))
  const key = readPart(cannot, 'key', () => createPrivateKey(pem.key))
  if (!x509.checkPrivateKey(key)) {
    throw new AverbaError('MISCONFIGURED', `${cannot}: its key belongs to another certificate`)
  }
  const end = Date.parse(x509.validTo)
  if (end < now) {
    throw new AverbaError(
      'MISCONFIGURED',
      `${cannot}: it expired on ${new Date(end).toISOString().slice(0, 10)}`,
      {
        hint: 'Renew it at your certificate authority',
      },
    )
  }
  return { ...pem, daysLeft: Math.floor((end - now) / dayMs) }
}

/**
 * The certificate itself in DER, without its chain and its key: the same however often it is exported. `undefined`
 * where it cannot be read.
 */
export async function leafOf(certificate: Certificate): Promise<Uint8Array | undefined> {
  try {
    const { cert } =
      'pfx' in certificate ? await readPkcs12(certificate.pfx, certificate.passphrase) : certificate
    return new X509Certificate(cert).raw
  } catch {
    return undefined
  }
}

async function readPfx(
  { pfx, passphrase }: Extract<Certificate, { pfx: unknown }>,
  cannot: string,
): Promise<Pem> {
  try {
    return await readPkcs12(pfx, passphrase)
  } catch (cause) {
    const isMac = cause instanceof Error && /mac|password/i.test(cause.message)
    const what = isMac ? 'its passphrase is wrong' : 'its PKCS#12 file cannot be read'
    throw new AverbaError('MISCONFIGURED', `${cannot}: ${what}`, { cause })
  }
}

/** Opens an encrypted key here, so that every runtime gets the same plain one. */
function readPem({ cert, key, passphrase }: Extract<Certificate, { cert: unknown }>, cannot: string): Pem {
  // A passphrase for a key that is not encrypted does no harm.
  if (!key.includes('ENCRYPTED')) return { cert, key }
  if (passphrase === undefined) {
    throw new AverbaError('MISCONFIGURED', `${cannot}: its key is encrypted, and its passphrase is missing`)
  }
  const opened = readPart(
    cannot,
    'key',
    () => createPrivateKey({ key, passphrase }),
    'its passphrase is wrong',
  )
  return { cert, key: opened.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

function readPart<T>(cannot: string, what: string, work: () => T, words = `its ${what} cannot be read`): T {
  try {
    return work()
  } catch (cause) {
    throw new AverbaError('MISCONFIGURED', `${cannot}: ${words}`, {
      cause,
      hint: 'Give PEM text, and the passphrase when the key is encrypted',
    })
  }
}
