import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { pkcs12 as Pkcs12 } from 'node-forge'

/** A certificate with its chain, and its key, as PEM text. */
export interface Pem {
  readonly cert: string
  readonly key: string
}

/**
 * Reads a PKCS#12 file, the old RC2-40 encryption of Brazilian A1 certificates included, which the TLS of current
 * runtimes refuses. Throws when the passphrase or the file is wrong.
 */
export async function readPkcs12(bytes: Uint8Array | string, passphrase = ''): Promise<Pem> {
  const { default: forge } = await import('node-forge')
  const binary = typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1')
  const file = forge.pkcs12.pkcs12FromAsn1(forge.asn1.fromDer(binary), false, passphrase)
  const bagsOf = (type: string | undefined) =>
    type === undefined ? [] : (file.getBags({ bagType: type })[type] ?? [])
  const { certBag, keyBag, pkcs8ShroudedKeyBag } = forge.pki.oids
  const certs = bagsOf(certBag).map(bag =>
    pemOf('CERTIFICATE', bag, () => bag.cert && forge.pki.certificateToAsn1(bag.cert)),
  )
  const [key] = [...bagsOf(pkcs8ShroudedKeyBag), ...bagsOf(keyBag)].map(bag =>
    pemOf(
      'PRIVATE KEY',
      bag,
      () => bag.key && forge.pki.wrapRsaPrivateKey(forge.pki.privateKeyToAsn1(bag.key)),
    ),
  )
  if (certs.length === 0 || key === undefined) throw new TypeError('The file holds no certificate, or no key')
  return { cert: leafFirst(certs, key).join(''), key }

  /** What forge could read, or else the original bytes, as for keys on elliptic curves. */
  function pemOf(
    label: string,
    bag: Pkcs12.Bag,
    understood: () => ReturnType<typeof forge.asn1.fromDer> | undefined,
  ) {
    const der = forge.asn1.toDer(understood() ?? bag.asn1).getBytes()
    const lines =
      Buffer.from(der, 'latin1')
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
  }
}

/** Puts the certificate of the key first, as TLS needs it: some programs write the chain in another order. */
function leafFirst(certs: readonly string[], key: string): string[] {
  const own = createPrivateKey(key)
  const isLeaf = (cert: string) => new X509Certificate(cert).checkPrivateKey(own)
  return [...certs.filter(isLeaf), ...certs.filter(cert => !isLeaf(cert))]
}
