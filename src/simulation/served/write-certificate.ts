import { createHash, type KeyObject, randomBytes, sign } from 'node:crypto'
import forge from 'node-forge'

const { asn1 } = forge
type Node = forge.asn1.Asn1

/** Who signs certificates. */
export interface Issuer {
  readonly name: Node
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
  /** Its own certificate, as PEM text. */
  readonly cert: string
}

interface CertificateContent {
  readonly subject: Node
  readonly publicKey: KeyObject
  readonly notBefore: Date
  readonly notAfter: Date
  readonly issuer: Omit<Issuer, 'cert'>
  readonly extensions: readonly Node[]
}

const { UNIVERSAL, CONTEXT_SPECIFIC } = asn1.Class
const { SEQUENCE, SET, OID, INTEGER, BOOLEAN, BITSTRING, OCTETSTRING, UTF8, UTCTIME, GENERALIZEDTIME } = asn1.Type

const oids = {
  commonName: '2.5.4.3',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  alternativeNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const

/** The last year that a certificate writes with two digits (RFC 5280, section 4.1.2.5). */
const lastShortYear = 2049

/** Writes an X.509 certificate over an elliptic key, as PEM text (RFC 5280). Strict clients require the key ids. */
export function writeCertificate({ subject, publicKey, issuer, extensions, ...times }: CertificateContent): string {
  const algorithm = sequence(oid(oids.ecdsaWithSha256))
  const keyIds = [
    extend(oids.subjectKeyId, octets(keyIdOf(publicKey))),
    extend(oids.authorityKeyId, sequence(tagged(0, keyIdOf(issuer.publicKey)))),
  ]
  const content = sequence(
    ...[wrapped(0, integer('\u0002')), integer(positiveSerial()), algorithm, issuer.name],
    ...[sequence(instant(times.notBefore), instant(times.notAfter)), subject, keyInfo(publicKey)],
    wrapped(3, sequence(...extensions, ...keyIds)),
  )
  const signature = sign('sha256', derOf(content), issuer.privateKey).toString('latin1')
  const der = derOf(sequence(content, algorithm, primitive(BITSTRING, `\u0000${signature}`)))
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n')
}

export const extension = {
  authority: extend(oids.basicConstraints, sequence(primitive(BOOLEAN, '\u00ff'), integer('\u0000')), true),
  /** Bits 5 and 6: certificates and revocation lists. */
  signsCertificates: extend(oids.keyUsage, primitive(BITSTRING, '\u0001\u0006'), true),
  digitalSignature: extend(oids.keyUsage, primitive(BITSTRING, '\u0007\u0080'), true),
  usage: (purpose: string) => extend(oids.extendedKeyUsage, sequence(oid(purpose))),
  /** DNS names and IP addresses. */
  names: (names: readonly string[]) =>
    names.length === 0 ? [] : [extend(oids.alternativeNames, sequence(...names.map(alternativeName)))],
}

export function nameOf(commonName: string): Node {
  return sequence(
    node(SET, [sequence(oid(oids.commonName), primitive(UTF8, Buffer.from(commonName).toString('latin1')))]),
  )
}

export function subjectOf(certificate: Uint8Array): Node {
  const parsed = asn1.fromDer(forge.util.createBuffer(Buffer.from(certificate).toString('latin1')))
  const content = membersOf(membersOf(parsed)[0])
  const subject = content[5]
  if (!subject) throw new TypeError('The certificate has no subject')
  return subject
}

function membersOf(parsed: Node | undefined): readonly Node[] {
  return Array.isArray(parsed?.value) ? parsed.value : []
}

function alternativeName(name: string): Node {
  const isAddress = /^[\d.]+$/.test(name)
  const bytes = isAddress ? String.fromCharCode(...name.split('.').map(Number)) : name
  return tagged(isAddress ? 7 : 2, bytes)
}

function extend(id: string, content: Node, isCritical = false): Node {
  const critical = isCritical ? [primitive(BOOLEAN, '\u00ff')] : []
  return sequence(oid(id), ...critical, octets(derOf(content).toString('latin1')))
}

function instant(at: Date): Node {
  return at.getUTCFullYear() > lastShortYear
    ? primitive(GENERALIZEDTIME, asn1.dateToGeneralizedTime(at))
    : primitive(UTCTIME, asn1.dateToUtcTime(at))
}

function keyInfo(key: KeyObject): Node {
  const der = key.export({ type: 'spki', format: 'der' })
  return asn1.fromDer(forge.util.createBuffer(der.toString('latin1')))
}

/** The SHA-1 of the key's own bits, which end its description. */
function keyIdOf(key: KeyObject): string {
  const pointBytes = 65
  const bits = key.export({ type: 'spki', format: 'der' }).subarray(-pointBytes)
  return createHash('sha1').update(bits).digest().toString('latin1')
}

/** Sixteen random bytes, as a positive number without leading zeros. */
function positiveSerial(): string {
  return `\u0001${randomBytes(15).toString('latin1')}`
}

function derOf(content: Node): Buffer {
  return Buffer.from(asn1.toDer(content).getBytes(), 'latin1')
}

function node(type: forge.asn1.Type, members: Node[]): Node {
  return asn1.create(UNIVERSAL, type, true, members)
}

function primitive(type: forge.asn1.Type, bytes: string): Node {
  return asn1.create(UNIVERSAL, type, false, bytes)
}

function sequence(...members: Node[]): Node {
  return node(SEQUENCE, members)
}

function oid(id: string): Node {
  return primitive(OID, asn1.oidToDer(id).getBytes())
}

function integer(bytes: string): Node {
  return primitive(INTEGER, bytes)
}

function octets(bytes: string): Node {
  return primitive(OCTETSTRING, bytes)
}

function tagged(tag: number, bytes: string): Node {
  return asn1.create(CONTEXT_SPECIFIC, tag, false, bytes)
}

function wrapped(tag: number, content: Node): Node {
  return asn1.create(CONTEXT_SPECIFIC, tag, true, [content])
}
