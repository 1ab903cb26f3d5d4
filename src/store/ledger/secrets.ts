import type { Vault } from '../../vault/vault.ts'
import { type Connection, each, first, rows, type Steps } from '../database/connection.ts'
import { type Lease, Leases } from './leases.ts'

/** A secret that the processes of one file share. */
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
 * Short-lived secrets, such as a bearer token, and digests of replaced secrets, shared by the processes of the file.
 * They are sealed under the keyring, one per name, and never in the log. A former secret cannot be requested again, so
 * `resealSecrets` keeps all of them when an epoch is destroyed.
 */
export class Secrets {
  /** Decide which process may request a new secret. */
  readonly leases: Leases
  readonly #connection: Connection
  readonly #vault: Vault

  constructor(connection: Connection, vault: Vault, lease: () => Lease) {
    this.leases = new Leases(connection, lease)
    this.#connection = connection
    this.#vault = vault
  }

  /**
   * Finds a secret by name; `undefined` when it is missing, or the key that sealed it was destroyed.
   *
   * @throws {AverbaError} `KEYS_MISSING`, `KEYS_MISMATCH` when its epoch is newer and the keyring cannot be read
   */
  async find(name: string): Promise<SharedSecret | undefined> {
    const row = await this.#readRow(name)
    const value = row && this.#open(name, row)
    return row && value !== undefined ? { generation: row.generation, value } : undefined
  }

  /** Stores a secret in place of an older generation. Does nothing when a newer one is stored. */
  async keep(name: string, { generation, value }: SharedSecret): Promise<void> {
    const { epoch, sealed } = this.#vault.sealSecret(sealingPlace(name, generation), value)
    const parameters = [name, generation, epoch, sealed]
    await this.#connection.transact(() => execute(upsertSecret, parameters))
  }

  /**
   * Replaces a value by what `make` returns for it, and gives the new value. When `make` returns `undefined`, the value
   * stays. When another process changed it first, `make` is called again, so that no change is lost.
   *
   * @throws {AverbaError} as `find`
   */
  async change(
    name: string,
    make: (before: string | undefined) => Promise<string | undefined>,
  ): Promise<string | undefined> {
    for (;;) {
      const row = await this.#readRow(name)
      const before = row && this.#open(name, row)
      const value = await make(before)
      if (value === undefined) return before
      if (await this.#replace(name, row?.generation ?? 0, value)) return value
    }
  }

  /** Deletes a secret of a generation before `before`. */
  async drop(name: string, before: number): Promise<void> {
    await this.#connection.transact(() => execute(deleteSecret, [name, before]))
  }

  async #readRow(name: string): Promise<SecretRow | undefined> {
    const row = await this.#connection.read(() => first<SecretRow>({ sql: selectSecret, parameters: [name] }))
    // Another process has begun a newer epoch.
    if (row && row.epoch > this.#vault.keyring.epoch) await this.#vault.keyring.refresh()
    return row
  }

  #open(name: string, { generation, epoch, sealed }: SecretRow): string | undefined {
    return this.#vault.openSecret(sealingPlace(name, generation), epoch, sealed)
  }

  /** False when another generation is stored by now. */
  #replace(name: string, before: number, value: string): Promise<boolean> {
    const generation = before + 1
    const { epoch, sealed } = this.#vault.sealSecret(sealingPlace(name, generation), value)
    const parameters = [name, generation, epoch, sealed, before]
    return this.#connection.transact(function* (): Steps<boolean> {
      return (yield* first({ sql: replaceSecret, parameters })) !== undefined
    })
  }
}

/** Reseals every secret that opens under the newest epoch, so that older epochs can be destroyed. */
export function* resealSecrets(vault: Vault): Steps<void> {
  const older = yield* rows<SecretRow & { name: string }>({
    sql: selectOlder,
    parameters: [vault.keyring.epoch],
  })
  const updates = older.flatMap(({ name, generation, epoch, sealed }) => {
    const place = sealingPlace(name, generation)
    const value = vault.openSecret(place, epoch, sealed)
    if (value === undefined) return []
    const resealed = vault.sealSecret(place, value)
    return [[resealed.epoch, resealed.sealed, name]]
  })
  yield* each(updateSealed, updates)
}

function* execute(sql: string, parameters: readonly unknown[]): Steps<void> {
  yield* rows({ sql, parameters })
}

function sealingPlace(name: string, generation: number): string {
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
