import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { AverbaError } from '../../vocabulary/errors.ts'
import { clocksDifferMaxMs, dayMs, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { isPassphraseError, type Pem, readPkcs12 } from './pkcs12.ts'

/** A certificate with its key: PEM texts, or PKCS#12 bytes. */
export type Certificate =
  | { readonly cert: string; readonly key: string; readonly passphrase?: string }
  | { readonly pfx: Uint8Array | string; readonly passphrase?: string }

export interface UsableCertificate extends Pem {
  /** When it expires, in milliseconds since 1970. */
  readonly endsAt: number
  readonly daysLeft: number
  /** When it becomes valid, if that is in the future. */
  readonly notBefore?: Instant
}

/**
 * Checks that a certificate is readable, unexpired and matches its key, and converts it to PEM: TLS libraries report
 * these failures differently on every runtime, or not at all.
 * @throws {AverbaError} `MISCONFIGURED`
 */
export async function loadCertificate(
  certificate: Certificate,
  now: number,
  whose: 'client' | 'server' = 'client',
): Promise<UsableCertificate> {
  const prefix = `Cannot use the ${whose} certificate`
  checkCertificate(certificate, prefix)
  const given = 'pfx' in certificate ? await readPfx(certificate, prefix) : readPem(certificate, prefix)
  const key = tryRead(prefix, 'key', () => createPrivateKey(given.key))
  const pem = tryRead(prefix, 'certificate', () => ({ ...given, cert: orderChain(given.cert, given.key, now) }))
  const x509 = tryRead(prefix, 'certificate', () => new X509Certificate(pem.cert))
  if (!x509.checkPrivateKey(key))
    throw new AverbaError('MISCONFIGURED', `${prefix}: its key belongs to another certificate`)
  // It reads the chain too, and refuses what is too weak; that of Deno looks at nothing.
  tryRead(prefix, 'certificate', () => createSecureContext(pem), 'TLS refuses it or its chain')
  const [begin, end] = [Date.parse(x509.validFrom), Date.parse(x509.validTo)]
  if (end < now) {
    const day = new Date(end).toISOString().slice(0, 10)
    const hint = 'Renew it at your certificate authority'
    throw new AverbaError('MISCONFIGURED', `${prefix}: it expired on ${day}`, { hint })
  }
  // The authority's clock may be ahead of ours.
  const isEarly = begin > now + clocksDifferMaxMs
  return {
    ...pem,
    endsAt: end,
    daysLeft: Math.floor((end - now) / dayMs),
    ...(isEarly && { notBefore: toInstant(begin) }),
  }
}

/** Checks what a function or a configuration gave. PEM text may also be the bytes of its file. */
export function checkCertificate(given: unknown, prefix: string): asserts given is Certificate {
  const certificate: { cert?: unknown; key?: unknown; pfx?: unknown } = Object(given)
  const needed = 'pfx' in certificate ? [certificate.pfx] : [certificate.cert, certificate.key]
  if (needed.every(each => typeof each === 'string' || each instanceof Uint8Array)) return
  const hint = 'Give { cert, key } as PEM text, or { pfx, passphrase }'
  throw new AverbaError('MISCONFIGURED', `${prefix}: it has neither cert and key nor pfx`, { hint })
}

/** The certificate in DER, without chain and key; `undefined` if unreadable. Every export has the same bytes. */
export async function readLeafCertificate(certificate: Certificate): Promise<Uint8Array | undefined> {
  try {
    const { cert, key } =
      'pfx' in certificate ? await readPkcs12(certificate.pfx, certificate.passphrase) : readPem(certificate, '')
    return new X509Certificate(orderChain(cert, key, Number.POSITIVE_INFINITY)).raw
  } catch {
    return undefined
  }
}

async function readPfx({ pfx, passphrase }: Extract<Certificate, { pfx: unknown }>, prefix: string): Promise<Pem> {
  try {
    return await readPkcs12(pfx, passphrase)
  } catch (cause) {
    const what = isPassphraseError(cause) ? 'its passphrase is wrong' : 'its PKCS#12 file cannot be read'
    throw new AverbaError('MISCONFIGURED', `${prefix}: ${what}`, { cause })
  }
}

/** Decrypts the key here, so that every runtime gets the same plain key. */
function readPem(given: Extract<Certificate, { cert: unknown }>, prefix: string): Pem {
  const { passphrase } = given
  // `readFile` without an encoding returns bytes.
  const cert = Buffer.from(given.cert).toString()
  const key = Buffer.from(given.key).toString()
  // A passphrase for a key that is not encrypted does no harm.
  if (!key.includes('ENCRYPTED')) return { cert, key }
  if (passphrase === undefined)
    throw new AverbaError('MISCONFIGURED', `${prefix}: its key is encrypted, and its passphrase is missing`)
  const opened = tryRead(prefix, 'key', () => createPrivateKey({ key, passphrase }), 'its passphrase is wrong')
  return { cert, key: opened.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

function tryRead<T>(prefix: string, what: string, work: () => T, why = `its ${what} cannot be read`): T {
  try {
    return work()
  } catch (cause) {
    throw new AverbaError('MISCONFIGURED', `${prefix}: ${why}`, {
      cause,
      hint: 'Give the whole PEM text, and the passphrase when the key is encrypted',
    })
  }
}

const certificateBlock = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[^-]+-----END \1-----/g

/** Puts the certificate of the key first, as TLS requires. Of several it takes the valid one that expires last. */
function orderChain(pem: string, key: string, now: number): string {
  const certs = pem.match(certificateBlock) ?? []
  const left = pem.replace(certificateBlock, '').split('-----BEGIN ').slice(1)
  // One that is cut is not left out: TLS refuses it.
  if (certs.length < 2 || left.some(each => each.split('-----')[0]?.endsWith('CERTIFICATE'))) return pem
  const own = createPrivateKey(key)
  const ranks = new Map(certs.map(cert => [cert, rankCertificate(cert, own, now)]))
  return certs.toSorted((a, b) => (ranks.get(b) ?? 0) - (ranks.get(a) ?? 0)).join('\n')
}

/** Its expiry in milliseconds since 1970; 1 if it is not valid yet, and 0 if it belongs to another key. */
function rankCertificate(cert: string, own: KeyObject, now: number): number {
  const x509 = new X509Certificate(cert)
  if (!x509.checkPrivateKey(own)) return 0
  return Date.parse(x509.validFrom) > now + clocksDifferMaxMs ? 1 : Date.parse(x509.validTo)
}
