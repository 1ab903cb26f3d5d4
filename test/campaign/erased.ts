import type { SubjectRef } from '../../src/api/subject-directory.ts'

/** An erased data subject. */
export interface Erased {
  readonly cpf: string
  readonly subject: SubjectRef
  /** Whether parts were kept because the law requires it. */
  readonly keeps: boolean
  /** The last bytes of each destroyed part, as it was in the file. */
  readonly pieces: readonly Buffer[]
}

/** A backup, and the erasures known to the host at that time. */
export interface Backup {
  readonly position: number
  readonly at: number
  /** By subject ref; the host keeps this list outside the log. */
  readonly erased: ReadonlyMap<string, Erased>
}
