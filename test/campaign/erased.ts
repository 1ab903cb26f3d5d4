import type { SubjectRef } from '../../src/api/subject-directory.ts'

/** Somebody who was erased. */
export interface Erased {
  readonly cpf: string
  readonly subject: SubjectRef
  /** The law has kept something. */
  readonly keeps: boolean
  /** The ends of what was destroyed, as it stood in the file. */
  readonly pieces: readonly Buffer[]
}

/** A backup, and what the host knew when it made it. */
export interface Backup {
  readonly position: number
  readonly at: number
  /** By their refs, as the host keeps them apart from the log. */
  readonly erased: ReadonlyMap<string, Erased>
}
