import type { CheckName } from '../../proof/faults.ts'
import type { Connection, Steps } from './connection.ts'

/** A log at one moment, for what reads all of it. Nothing is written to the log, and engines go on meanwhile. */
export interface Reading {
  /** Names the log in errors: a path, or a schema. */
  readonly name: string
  readonly dialect: Connection['dialect']
  /** Runs steps on the snapshot, one call after the other. They may create and write temporary tables. */
  read<T>(steps: () => Steps<T>): Promise<T>
  /** Describes where the medium was cut off, if it can be. */
  findCutOff(): string | undefined
  /** Checks the medium by its own means. */
  findFaults(): Promise<readonly MediumFault[]>
  readSize(): Promise<MediumSize>
  /** Reads how the medium is set up: pragmas of a file, settings of a server. */
  readSettings(): Promise<Readonly<Record<string, unknown>>>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A fault of the file or the tables below the log. */
export interface MediumFault {
  readonly check: Extract<CheckName, 'file' | 'references'>
  readonly fault: string
}

/** How much space a log takes. */
export interface MediumSize {
  readonly fileBytes: number
  /** What the tables and indexes take up. */
  readonly heldBytes: number
  /** The write-ahead log of a file; 0 on a server, whose own is for all of its databases. */
  readonly walBytes: number
  /** Free space in the file, which is used before the file grows; 0 on a server, which does not tell. */
  readonly freeBytes: number
}
