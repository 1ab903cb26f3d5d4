import { fromBase64, fromHex, toBase64, toHex } from './encoding.ts'
import { parseNote, type SignedNote, type Signer, signNote } from './note.ts'

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

/** Reads a checkpoint without verifying signatures; `undefined` for a text of another form. */
export function parseCheckpoint(text: string): SignedCheckpoint | undefined {
  const note = parseNote(text)
  const [origin = '', size = '', base64 = ''] = note?.text.split('\n') ?? []
  const root = fromBase64(base64)
  const isValid = note && origin !== '' && /^(0|[1-9]\d{0,15})$/.test(size) && root?.length === 32
  if (!isValid || !Number.isSafeInteger(Number(size))) return undefined
  return { origin, size: Number(size), root: toHex(root), note }
}
