import type { Vault } from '../../vault/vault.ts'
import { type Connection, each, first, rows, type Steps } from '../database/connection.ts'
import { type Lease, Leases } from './leases.ts'

/** A secret as the processes of one file share it. */
export interface SharedSecret {
  readonly generation: number
  readonly value: string
}

interface SecretRow {
  readonly generation: number
  readonly epoch: number
  readonly sealed: Uint8Array
}

/**
 * Secrets that live for a while, such as a bearer token, and digests of secrets that changed: for the other processes
 * of the file, sealed under the keyring, at most one of a name, and never in the log. A lost token could be requested
 * again, but nobody else knows a former secret, so all of them outlive the epoch that they were sealed under.
 */
export class Secrets {
  /** Who may get a new one, where only one process may request it. */
  readonly leases: Leases
  readonly #connection: Connection
  readonly #vault: Vault

  constructor(connection: Connection, vault: Vault, lease: () => Lease) {
    this.leases = new Leases(connection, lease)
    this.#connection = connection
    this.#vault = vault
  }

  /**
   * The secret of a name; `undefined` when it is not there, or was sealed under a key that is gone.
   *
   * @throws {AverbaError} `KEYS_MISSING`, `KEYS_MISMATCH` when it is of a newer epoch, and the keyring cannot be read
   */
  async find(name: string): Promise<SharedSecret | undefined> {
    const row = await this.#row(name)
    const value = row && this.#open(name, row)
    return row && value !== undefined ? { generation: row.generation, value } : undefined
  }

  /** Keeps a secret in place of an older one. One that is older than what is there is dropped. */
  async keep(name: string, { generation, value }: SharedSecret): Promise<void> {
    const { epoch, sealed } = this.#vault.sealSecret(placeOf(name, generation), value)
    const parameters = [name, generation, epoch, sealed]
    await this.#connection.transact(() => run(upsertSecret, parameters))
  }

  /**
   * Replaces the value of a name by what a function makes of it, and gives the value then; where that makes
   * `undefined`, nothing changes. It is called again where another process was faster, so that no change is lost,
   * whatever the clocks say.
   *
   * @throws {AverbaError} as `find`
   */
  async change(
    name: string,
    make: (before: string | undefined) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    for (;;) {
      const row = await this.#row(name)
      const before = row && this.#open(name, row)
      const value = await make(before)
      if (value === undefined) return before
      if (await this.#replace(name, row?.generation ?? 0, value)) return value
    }
  }

  /** Removes a secret that is older than a generation, and overwrites it. */
  async drop(name: string, before: number): Promise<void> {
    await this.#connection.transact(() => run(deleteSecret, [name, before]))
  }

  async #row(name: string): Promise<SecretRow | undefined> {
    const row = await this.#connection.read(() => first<SecretRow>({ sql: selectSecret, parameters: [name] }))
    // Another process has begun an epoch.
    if (row && row.epoch > this.#vault.keyring.epoch) await this.#vault.keyring.refresh()
    return row
  }

  #open(name: string, { generation, epoch, sealed }: SecretRow): string | undefined {
    return this.#vault.openSecret(placeOf(name, generation), epoch, sealed)
  }

  /** False where another generation is there by now. */
  #replace(name: string, before: number, value: string): Promise<boolean> {
    const generation = before + 1
    const { epoch, sealed } = this.#vault.sealSecret(placeOf(name, generation), value)
    const parameters = [name, generation, epoch, sealed, before]
    return this.#connection.transact(function* (): Steps<boolean> {
      return (yield* first({ sql: replaceSecret, parameters })) !== undefined
    })
  }
}

/** Seals every secret that still opens under the newest epoch, so that an older one may be destroyed. */
export function* resealSecrets(vault: Vault): Steps<void> {
  const older = yield* rows<SecretRow & { name: string }>({
    sql: selectOlder,
    parameters: [vault.keyring.epoch],
  })
  const resealed = older.flatMap(({ name, generation, epoch, sealed }) => {
    const place = placeOf(name, generation)
    const value = vault.openSecret(place, epoch, sealed)
    if (value === undefined) return []
    const anew = vault.sealSecret(place, value)
    return [[anew.epoch, anew.sealed, name]]
  })
  yield* each(updateSealed, resealed)
}

function* run(sql: string, parameters: readonly unknown[]): Steps<void> {
  yield* rows({ sql, parameters })
}

function placeOf(name: string, generation: number): string {
  return `secret ${name}/${generation}`
}

const selectSecret = 'select generation, epoch, sealed from secret where name = ?'
const selectOlder = 'select name, generation, epoch, sealed from secret where epoch < ?'
const updateSealed = 'update secret set epoch = ?, sealed = ? where name = ?'
const putSecret = `insert into secret (name, generation, epoch, sealed) values (?, ?, ?, ?)
  on conflict (name) do update set generation = excluded.generation, epoch = excluded.epoch, sealed = excluded.sealed`
const upsertSecret = `${putSecret} where excluded.generation >= secret.generation`
const replaceSecret = `${putSecret} where secret.generation = ? returning name`
const deleteSecret = 'delete from secret where name = ? and generation < ?'
