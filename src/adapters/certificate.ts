import { createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { AverbaError } from '../errors.ts'

/** A client certificate with its key: PEM texts, or PKCS#12 bytes. */
export type Certificate =
  | { readonly cert: string; readonly key: string; readonly passphrase?: string }
  | { readonly pfx: Uint8Array | string; readonly passphrase?: string }

/**
 * Checks that a PEM certificate can be used: readable, not expired, and the key its own. TLS libraries say
 * each of these in another way, or not at all.
 *
 * @throws {AverbaError} `MISCONFIGURED`, in words
 */
export function checkCertificate(certificate: Certificate, now: number): void {
  const cannot = 'Cannot use the client certificate'
  if ('pfx' in certificate) {
    checkPfx(certificate, cannot)
    return
  }
  const read = <T>(what: string, work: () => T): T => {
    try {
      return work()
    } catch (cause) {
      throw new AverbaError('MISCONFIGURED', `${cannot}: its ${what} cannot be read`, {
        cause,
        hint: 'Give PEM text, and the passphrase when the key is encrypted',
      })
    }
  }
  const x509 = read('certificate', () => new X509Certificate(certificate.cert))
  const { key, passphrase } = certificate
  const privateKey = read('key', () =>
    createPrivateKey({ key, ...(passphrase !== undefined && { passphrase }) }),
  )
  if (!x509.checkPrivateKey(privateKey)) {
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
}

function checkPfx({ pfx, passphrase }: Extract<Certificate, { pfx: unknown }>, cannot: string): void {
  try {
    const bytes = typeof pfx === 'string' ? pfx : Buffer.from(pfx)
    createSecureContext({ pfx: bytes, ...(passphrase !== undefined && { passphrase }) })
  } catch (cause) {
    throw new AverbaError('MISCONFIGURED', `${cannot}: its PKCS#12 file cannot be read`, {
      cause,
      hint: 'Check the passphrase. A file with the old RC2 encryption has to be exported again, or given as PEM',
    })
  }
}
