import type { Vault } from '../vault/vault.ts'
import { type Connection, first, rows, type Steps } from './connection.ts'
import { type Lease, Leases } from './leases.ts'

/** A secret as the processes of one file share it. */
export interface SharedSecret {
  readonly generation: number
  readonly value: string
}

interface Row {
  readonly generation: number
  readonly epoch: number
  readonly sealed: Uint8Array
}

/**
 * Secrets that live for a while, such as a bearer token: for the other processes of the file, sealed under the
 * keyring, at most one of a name. Disposable: one that is not there is asked for again. Never in the log.
 */
export class Secrets {
  /** Who may get a new one, where only one process may ask for it. */
  readonly leases: Leases
  readonly #connection: Connection
  readonly #vault: Vault

  constructor(connection: Connection, vault: Vault, lease: () => Lease) {
    this.leases = new Leases(connection, lease)
    this.#connection = connection
    this.#vault = vault
  }

  /** The secret of a name; `undefined` when it is not there, or was sealed under a key that is gone. */
  async find(name: string): Promise<SharedSecret | undefined> {
    const row = await this.#connection.read(() => first<Row>({ sql: selectSecret, parameters: [name] }))
    const value = row && this.#vault.openSecret(placeOf(name, row.generation), row.epoch, row.sealed)
    return row && value !== undefined ? { generation: row.generation, value } : undefined
  }

  /** Keeps a secret in place of an older one. What is older than the one that is there is not kept. */
  async keep(name: string, { generation, value }: SharedSecret): Promise<void> {
    const { epoch, sealed } = this.#vault.sealSecret(placeOf(name, generation), value)
    const parameters = [name, generation, epoch, sealed]
    await this.#connection.transact(() => run(upsertSecret, parameters))
  }

  /** Removes a secret, and overwrites where it stood. */
  async drop(name: string): Promise<void> {
    await this.#connection.transact(() => run(deleteSecret, [name]))
  }
}

function* run(sql: string, parameters: readonly unknown[]): Steps<void> {
  yield* rows({ sql, parameters })
}

function placeOf(name: string, generation: number): string {
  return `secret ${name}/${generation}`
}

const selectSecret = 'select generation, epoch, sealed from secret where name = ?'
const upsertSecret = `insert into secret (name, generation, epoch, sealed) values (?, ?, ?, ?)
  on conflict (name) do update set generation = excluded.generation, epoch = excluded.epoch, sealed = excluded.sealed
  where excluded.generation >= secret.generation`
const deleteSecret = 'delete from secret where name = ?'
