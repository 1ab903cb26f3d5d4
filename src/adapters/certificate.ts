import { createPrivateKey, X509Certificate } from 'node:crypto'
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
  if ('pfx' in certificate) return
  const cannot = 'Cannot use the client certificate'
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
