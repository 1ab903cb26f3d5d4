import { fromBase64, fromHex, sha256, toBase64, toBytes, toHex } from './encoding.ts'

/** The type of a signature: 1 is over the text, 4 over the text and a time (the cosignature of a witness). */
export type SignatureType = 1 | 4

/** A key that verifies signatures: the content of a C2SP verifier key line. */
export interface VerifierKey {
  readonly name: string
  /** The first four bytes of a digest over name, type and key, in hexadecimal. */
  readonly id: string
  readonly type: SignatureType
  readonly publicKey: Uint8Array<ArrayBuffer>
}

/** Signs with an Ed25519 key. The private key stays in the vault. */
export interface Signer {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  sign(text: Uint8Array): Uint8Array
}

export interface NoteSignature {
  readonly name: string
  readonly id: string
  readonly signature: Uint8Array<ArrayBuffer>
}

/** A signed note (C2SP signed-note) that is not verified yet. */
export interface SignedNote {
  /** With its last newline: exactly the signed text. */
  readonly text: string
  readonly signatures: readonly NoteSignature[]
}

const noteLengthMax = 1_000_000
const signaturesMax = 64

/** Creates the verifier key for a name and a public key. */
export function createVerifierKey(name: string, publicKey: Uint8Array, type: SignatureType = 1): VerifierKey {
  const key = Uint8Array.from(publicKey)
  const line = toBytes(`${name}\n`)
  const hashed = new Uint8Array(line.length + 1 + key.length)
  hashed.set(line)
  hashed.set([type, ...key], line.length)
  return { name, id: sha256(hashed).slice(0, 8), type, publicKey: key }
}

/** Writes a verifier key line, without a newline. */
export function writeVerifierKey({ name, id, type, publicKey }: VerifierKey): string {
  return `${name}+${id}+${toBase64(Uint8Array.from([type, ...publicKey]))}`
}

/** Reads a verifier key line; `undefined` when it is not of an Ed25519 key with a name of at most 200 characters. */
export function parseVerifierKey(line: string): VerifierKey | undefined {
  const [, name = '', id = '', base64 = ''] = /^([^\s+]{1,200})\+([0-9a-f]{8})\+([\w+/=]{44})$/.exec(line) ?? []
  const bytes = fromBase64(base64)
  const type = bytes?.[0]
  if (bytes?.length !== 33 || (type !== 1 && type !== 4)) return undefined
  const key = createVerifierKey(name, bytes.subarray(1), type)
  return key.id === id ? key : undefined
}

export function signNote(text: string, name: string, signer: Signer): string {
  const { id } = createVerifierKey(name, signer.publicKey)
  const signature = Uint8Array.from([...fromHex(id), ...signer.sign(toBytes(text))])
  return `${text}\n— ${name} ${toBase64(signature)}\n`
}

/** Reads a signed note; `undefined` for a text of another form. */
export function parseNote(note: string): SignedNote | undefined {
  if (note.length > noteLengthMax || !note.isWellFormed() || hasControls(note) || !note.endsWith('\n')) return undefined
  const end = note.lastIndexOf('\n\n')
  if (end < 1) return undefined
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > signaturesMax) return undefined
  const signatures: NoteSignature[] = []
  for (const line of lines) {
    const [, name = '', base64 = ''] = /^— ([^\s+]+) ([\w+/=]+)$/u.exec(line) ?? []
    const bytes = fromBase64(base64)
    if (!bytes || bytes.length < 5) return undefined
    signatures.push({ name, id: toHex(bytes.subarray(0, 4)), signature: bytes.slice(4) })
  }
  return { text: note.slice(0, end + 1), signatures }
}

function hasControls(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 32 && code !== 10) return true
  }
  return false
}

/** Returns the given keys that have signed a note; `undefined` when the signature of one of them is wrong. */
export async function verifyNote(
  { text, signatures }: SignedNote,
  keys: readonly VerifierKey[],
): Promise<VerifierKey[] | undefined> {
  const signed: VerifierKey[] = []
  for (const { name, id, signature } of signatures) {
    const key = keys.find(each => each.name === name && each.id === id)
    if (!key) continue
    if (!(await isSigned(text, signature, key))) return undefined
    signed.push(key)
  }
  return signed
}

async function isSigned(text: string, signature: Uint8Array<ArrayBuffer>, key: VerifierKey): Promise<boolean> {
  if (signature.length !== (key.type === 1 ? 64 : 72)) return false
  const { publicKey } = key
  const made = signature.slice(signature.length - 64)
  const imported = await crypto.subtle.importKey('raw', publicKey, { name: 'Ed25519' }, false, ['verify'])
  return crypto.subtle.verify({ name: 'Ed25519' }, imported, made, signedBytes(text, signature, key.type))
}

/** A cosignature covers the time as well (C2SP tlog-cosignature). */
function signedBytes(text: string, signature: Uint8Array<ArrayBuffer>, type: SignatureType): Uint8Array<ArrayBuffer> {
  if (type === 1) return toBytes(text)
  const seconds = new DataView(signature.buffer).getBigUint64(0)
  return toBytes(`cosignature/v1\ntime ${seconds}\n${text}`)
}

/** The content of a checkpoint: the log of this name has this many events, with this root over them. */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  /** In hexadecimal. */
  readonly root: string
}

/** A checkpoint with its signed note. */
export interface SignedCheckpoint extends Checkpoint {
  readonly note: SignedNote
}

/** Signs a checkpoint as a C2SP note. The name of the key is the origin. */
export function signCheckpoint({ origin, size, root }: Checkpoint, signer: Signer): string {
  return signNote(`${origin}\n${size}\n${toBase64(fromHex(root))}\n`, origin, signer)
}

/** Reads a checkpoint, verifies no signature; `undefined` for another form, or an origin of over 200 characters. */
export function parseCheckpoint(text: string): SignedCheckpoint | undefined {
  const note = parseNote(text)
  const [origin = '', size = '', base64 = ''] = note?.text.split('\n') ?? []
  const root = fromBase64(base64)
  const isValid = note && /^.{1,200}$/s.test(origin) && /^(0|[1-9]\d{0,15})$/.test(size) && root?.length === 32
  if (!isValid || !Number.isSafeInteger(Number(size))) return undefined
  return { origin, size: Number(size), root: toHex(root), note }
}
