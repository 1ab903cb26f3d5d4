import type { Instant } from '../vocabulary/message.ts'

/** An erasure in the keyring file: after a restore of an older backup it has to be repeated. */
interface RememberedErasure {
  readonly at: Instant
  /** Some parts were kept, and so was the key. */
  readonly keepsKey: boolean
  /** The newest epoch after the erasure: earlier backups are wrapped by older ones. */
  readonly epoch: number
}

/** By subject. */
export type RememberedErasures = Readonly<Record<string, RememberedErasure>>

interface FileWithErasures {
  readonly epochs: Readonly<Record<string, string>>
  readonly erased?: RememberedErasures
}

/** An erasure to add to the keyring file. */
export interface ErasureToRemember extends Omit<RememberedErasure, 'epoch'> {
  readonly subject: string
}

/** Copies a keyring file with an erasure added. */
export function withErasure<F extends FileWithErasures>(file: F, { subject, ...erasure }: ErasureToRemember): F {
  const epoch = Math.max(...Object.keys(file.epochs).map(Number))
  return { ...file, erased: { ...file.erased, [subject]: { ...erasure, epoch } } }
}

/** Copies a keyring file without the erasures that every backup which still opens contains. Lost ones stay. */
export function withoutOldErasures<F extends FileWithErasures>(
  { erased = {}, ...others }: F,
  lost: ReadonlySet<string>,
): Omit<F, 'erased'> & { readonly erased?: RememberedErasures } {
  const oldest = Math.min(...Object.keys(others.epochs).map(Number))
  const needed = Object.entries(erased).filter(([subject, { epoch }]) => epoch > oldest || lost.has(subject))
  return needed.length === 0 ? others : { ...others, erased: Object.fromEntries(needed) }
}

/** Reports whether a value is a record of remembered erasures. */
export function areErasures(value: unknown): value is RememberedErasures {
  return typeof value === 'object' && value !== null && Object.values(value).every(isErasure)
}

function isErasure(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { at, keepsKey, epoch }: { at?: unknown; keepsKey?: unknown; epoch?: unknown } = value
  return typeof at === 'string' && typeof keepsKey === 'boolean' && Number.isInteger(epoch)
}
