import type { asn1 as Asn1, pkcs12 as Pkcs12 } from 'node-forge'

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
  const file = open(forge.asn1.fromDer(binary))
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
  return { cert: certs.join(''), key }

  /**
   * Of a passphrase that is not ASCII, what is sealed with AES takes the bytes of UTF-8, and forge has one for each
   * character.
   */
  function open(pfx: Asn1.Asn1): Pkcs12.Pkcs12Pfx {
    try {
      return forge.pkcs12.pkcs12FromAsn1(pfx, false, passphrase)
    } catch (error) {
      const isOther = Buffer.byteLength(passphrase) > passphrase.length && !isOfMac(error)
      if (!isOther || !Array.isArray(pfx.value)) throw error
      // The passphrase has passed: what it is compared with is left out, which takes it as it was.
      const unchecked = { ...pfx, value: pfx.value.slice(0, 2) }
      return forge.pkcs12.pkcs12FromAsn1(unchecked, false, Buffer.from(passphrase, 'utf8').toString('latin1'))
    }
  }

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

/** Reports whether reading failed for a wrong passphrase. */
export function isOfPassphrase(error: unknown): boolean {
  return error instanceof Error && /mac|password/i.test(error.message)
}

function isOfMac(error: unknown): boolean {
  return error instanceof Error && error.message.includes('MAC could not be verified')
}
