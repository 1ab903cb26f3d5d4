import type { asn1 as Asn1, pkcs12 as Pkcs12 } from 'node-forge'

export interface Pem {
  readonly cert: string
  readonly key: string
}

/**
 * Reads a PKCS#12 file, also with the old RC2-40 encryption of Brazilian A1 certificates, which current TLS libraries
 * refuse. Throws when the passphrase or the file is wrong.
 */
export async function readPkcs12(bytes: Uint8Array | string, passphrase = ''): Promise<Pem> {
  const { default: forge } = await import('node-forge')
  const binary = typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1')
  const file = decrypt(forge.asn1.fromDer(binary))
  const findBags = (type: string | undefined) =>
    type === undefined ? [] : (file.getBags({ bagType: type })[type] ?? [])
  const { certBag, keyBag, pkcs8ShroudedKeyBag } = forge.pki.oids
  const certs = findBags(certBag).map(bag =>
    toPem('CERTIFICATE', bag, () => bag.cert && forge.pki.certificateToAsn1(bag.cert)),
  )
  const [key] = [...findBags(pkcs8ShroudedKeyBag), ...findBags(keyBag)].map(bag =>
    toPem('PRIVATE KEY', bag, () => bag.key && forge.pki.wrapRsaPrivateKey(forge.pki.privateKeyToAsn1(bag.key))),
  )
  if (certs.length === 0 || key === undefined) throw new TypeError('The file has no certificate or no key')
  return { cert: certs.join(''), key }

  /** AES files use the UTF-8 bytes of a passphrase that is not ASCII; forge uses one byte per character. */
  function decrypt(pfx: Asn1.Asn1): Pkcs12.Pkcs12Pfx {
    try {
      return forge.pkcs12.pkcs12FromAsn1(pfx, false, passphrase)
    } catch (error) {
      const mayBeUtf8 = Buffer.byteLength(passphrase) > passphrase.length && !isMacError(error)
      if (!mayBeUtf8 || !Array.isArray(pfx.value)) throw error
      // The MAC matched the passphrase as it was given. Leave it out: it would not match the UTF-8 bytes.
      const unchecked = { ...pfx, value: pfx.value.slice(0, 2) }
      return forge.pkcs12.pkcs12FromAsn1(unchecked, false, Buffer.from(passphrase, 'utf8').toString('latin1'))
    }
  }

  /** Encodes what forge parsed, or the original bytes of keys on elliptic curves. */
  function toPem(label: string, bag: Pkcs12.Bag, toAsn1: () => ReturnType<typeof forge.asn1.fromDer> | undefined) {
    const der = forge.asn1.toDer(toAsn1() ?? bag.asn1).getBytes()
    const lines =
      Buffer.from(der, 'latin1')
        .toString('base64')
        .match(/.{1,64}/g) ?? []
    return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
  }
}

export function isPassphraseError(error: unknown): boolean {
  return error instanceof Error && /mac|password/i.test(error.message)
}

function isMacError(error: unknown): boolean {
  return error instanceof Error && error.message.includes('MAC could not be verified')
}
