import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/**
 * Puts the certificate of a key first, as TLS needs it: some programs write the chain in another order, or leave a
 * former certificate of the same key in the file. Of several, the one that ends last. Takes and gives PEM text.
 */
export function leafFirst(pem: string, key: string): string {
  const certs = pem.match(block) ?? []
  if (certs.length < 2) return pem
  const own = createPrivateKey(key)
  const ends = new Map(certs.map(cert => [cert, endOf(cert, own)]))
  return certs.toSorted((a, b) => (ends.get(b) ?? 0) - (ends.get(a) ?? 0)).join('\n')
}

/** When it ends, in milliseconds since 1970; the beginning of time for one of another key. */
function endOf(cert: string, own: KeyObject): number {
  const x509 = new X509Certificate(cert)
  return x509.checkPrivateKey(own) ? Date.parse(x509.validTo) : Number.NEGATIVE_INFINITY
}
