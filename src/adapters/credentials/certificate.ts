import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { AverbaError } from '../../vocabulary/errors.ts'
import { clocksDifferMaxMs, dayMs, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { isOfPassphrase, type Pem, readPkcs12 } from './pkcs12.ts'

/** A certificate with its key: PEM texts, or PKCS#12 bytes. */
export type Certificate =
  | { readonly cert: string; readonly key: string; readonly passphrase?: string }
  | { readonly pfx: Uint8Array | string; readonly passphrase?: string }

/** A certificate that can be used, and how long. */
export interface UsableCertificate extends Pem {
  /** When it ends, in milliseconds since 1970. */
  readonly endsAt: number
  readonly daysLeft: number
  /** When its time comes, where it has not come yet. */
  readonly notBefore?: Instant
}

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
  if (!isGiven(certificate)) {
    const hint = 'Give { cert, key } as PEM text, or { pfx, passphrase }'
    throw new AverbaError('MISCONFIGURED', `${cannot}: it is none`, { hint })
  }
  const given = 'pfx' in certificate ? await readPfx(certificate, cannot) : readPem(certificate, cannot)
  const key = readPart(cannot, 'key', () => createPrivateKey(given.key))
  const pem = readPart(cannot, 'certificate', () => ({
    ...given,
    cert: orderChain(given.cert, given.key, now),
  }))
  const x509 = readPart(cannot, 'certificate', () => new X509Certificate(pem.cert))
  if (!x509.checkPrivateKey(key)) {
    throw new AverbaError('MISCONFIGURED', `${cannot}: its key belongs to another certificate`)
  }
  const [begin, end] = [Date.parse(x509.validFrom), Date.parse(x509.validTo)]
  if (end < now) {
    throw new AverbaError(
      'MISCONFIGURED',
      `${cannot}: it expired on ${new Date(end).toISOString().slice(0, 10)}`,
      {
        hint: 'Renew it at your certificate authority',
      },
    )
  }
  // Its authority's clock may be ahead of ours.
  const isEarly = begin > now + clocksDifferMaxMs
  return {
    ...pem,
    endsAt: end,
    daysLeft: Math.floor((end - now) / dayMs),
    ...(isEarly && { notBefore: toInstant(begin) }),
  }
}

/**
 * Checks one that takes the place of another, which still serves.
 *
 * @throws {AverbaError} `MISCONFIGURED`, also for one whose time has not come
 */
export async function useNextCertificate(
  ...given: Parameters<typeof useCertificate>
): Promise<UsableCertificate> {
  const next = await useCertificate(...given)
  if (next.notBefore === undefined) return next
  const [, , whose = 'client'] = given
  const why = `Cannot use the ${whose} certificate: it is not valid before ${next.notBefore}`
  throw new AverbaError('MISCONFIGURED', why, { hint: 'The one before stays in use until then' })
}

/** What a function or a configuration gives may be anything; a text may come as the bytes of its file. */
function isGiven(certificate: unknown): certificate is Certificate {
  if (typeof certificate !== 'object' || certificate === null) return false
  const { cert, key, pfx } = certificate as { cert?: unknown; key?: unknown; pfx?: unknown } // Looked at.
  const needed = 'pfx' in certificate ? [pfx] : [cert, key]
  return needed.every(each => typeof each === 'string' || each instanceof Uint8Array)
}

/**
 * The certificate itself in DER, without its chain and its key: the same however often it is exported. `undefined`
 * where it cannot be read.
 */
export async function leafOf(certificate: Certificate): Promise<Uint8Array | undefined> {
  try {
    const { cert, key } =
      'pfx' in certificate
        ? await readPkcs12(certificate.pfx, certificate.passphrase)
        : readPem(certificate, '')
    // Whatever the time is: it stands for whoever shows it.
    return new X509Certificate(orderChain(cert, key, Number.POSITIVE_INFINITY)).raw
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
    const what = isOfPassphrase(cause) ? 'its passphrase is wrong' : 'its PKCS#12 file cannot be read'
    throw new AverbaError('MISCONFIGURED', `${cannot}: ${what}`, { cause })
  }
}

/** Opens an encrypted key here, so that every runtime gets the same plain one. */
function readPem(given: Extract<Certificate, { cert: unknown }>, cannot: string): Pem {
  const { passphrase } = given
  // A file that was read without an encoding gives bytes.
  const [cert, key] = [given.cert, given.key].map(each => Buffer.from(each).toString()) as [string, string] // Of two.
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

const block = /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[^-]+-----END \1-----/g

/**
 * Puts the certificate of a key first, as TLS needs it: some programs write the chain in another order, or leave a
 * former certificate of the same key in the file. Of several, the one that ends last of those whose time has come.
 * Takes and gives PEM text.
 */
function orderChain(pem: string, key: string, now: number): string {
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
