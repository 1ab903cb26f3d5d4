import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { clocksDifferMaxMs } from '../../vocabulary/instant.ts'

const block = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[^-]+-----END \1-----/g

/**
 * Puts the certificate of a key first, as TLS needs it: some programs write the chain in another order, or leave a
 * former certificate of the same key in the file. Of several, the one that ends last of those whose time has come.
 * Takes and gives PEM text.
 */
export function leafFirst(pem: string, key: string, now: number): string {
  const certs = pem.match(block) ?? []
  if (certs.length < 2) return pem
  const own = createPrivateKey(key)
  const ranks = new Map(certs.map(cert => [cert, rankOf(cert, own, now)]))
  return certs.toSorted((a, b) => (ranks.get(b) ?? 0) - (ranks.get(a) ?? 0)).join('\n')
}

/** When it ends, in milliseconds since 1970; 1 where its time has not come, and 0 for one of another key. */
function rankOf(cert: string, own: KeyObject, now: number): number {
  const x509 = new X509Certificate(cert)
  if (!x509.checkPrivateKey(own)) return 0
  return Date.parse(x509.validFrom) > now + clocksDifferMaxMs ? 1 : Date.parse(x509.validTo)
}
