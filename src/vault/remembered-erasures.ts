import type { Instant } from '../vocabulary/message.ts'

/** An erasure as the keyring remembers it: a backup that predates it may be put back, and does not know of it. */
interface RememberedErasure {
  readonly at: Instant
  /** Something was kept, and so was the key. */
  readonly keepsKey: boolean
  /** The newest epoch at that time: everything in an earlier backup is wrapped by an older one. */
  readonly epoch: number
}

/** By subject. */
export type RememberedErasures = Readonly<Record<string, RememberedErasure>>

/** What is looked at of a keyring file: its epochs, and the erasures that it remembers. */
interface ErasureMemory {
  readonly epochs: Readonly<Record<string, string>>
  readonly erased?: RememberedErasures
}

/** What the keyring is told of an erasure. */
export interface ErasureToRemember extends Omit<RememberedErasure, 'epoch'> {
  readonly subject: string
}

/** The keyring with an erasure. */
export function remembering<F extends ErasureMemory>(file: F, { subject, ...erasure }: ErasureToRemember): F {
  const epoch = Math.max(...Object.keys(file.epochs).map(Number))
  return { ...file, erased: { ...file.erased, [subject]: { ...erasure, epoch } } }
}

/** The keyring without erasures that every backup which still opens comes after; lost erasures stay. */
export function forgetting<F extends ErasureMemory>(
  { erased = {}, ...others }: F,
  lost: ReadonlySet<string>,
): Omit<F, 'erased'> & { readonly erased?: RememberedErasures } {
  const oldest = Math.min(...Object.keys(others.epochs).map(Number))
  const left = Object.entries(erased).filter(([subject, { epoch }]) => epoch > oldest || lost.has(subject))
  return left.length === 0 ? others : { ...others, erased: Object.fromEntries(left) }
}

/** Reports whether a value has the form of remembered erasures. */
export function areErasures(value: unknown): value is RememberedErasures {
  return typeof value === 'object' && value !== null && Object.values(value).every(isErasure)
}

function isErasure(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { at, keepsKey, epoch }: { at?: unknown; keepsKey?: unknown; epoch?: unknown } = value
  return typeof at === 'string' && typeof keepsKey === 'boolean' && Number.isInteger(epoch)
}
