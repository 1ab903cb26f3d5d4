import { EpochMissingError, KeyringUnreadableError } from '../../vault/keyring.ts'
import type { Vault } from '../../vault/vault.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, isWithin } from '../../vocabulary/instant.ts'
import { type Connection, first, rows, type Steps } from '../database/connection.ts'
import { db, type Schema } from '../database/schema.ts'
import { checkNotMoved } from '../log/tail.ts'
import type { Lease, Leasing } from './lease.ts'

/** Named leases for work that only one process of a file may do at a time, such as a login. */
export class Leases {
  readonly #connection: Connection
  readonly #leasing: Leasing
  #lastFailure: { readonly error: AverbaError; readonly at: number } | undefined

  constructor(connection: Connection, leasing: Leasing) {
    this.#connection = connection
    this.#leasing = leasing
  }

  /** Takes a lease, or extends it: for how many milliseconds. `undefined` while another process holds it. */
  async take(name: string): Promise<number | undefined> {
    const { ms, lagMs } = this.#leasing
    const isTaken = await this.#connection.transact(() => takeLease(name, this.#leasing.begin()), 'rows')
    return isTaken ? ms - lagMs : undefined
  }

  release(name: string): Promise<void> {
    return this.#connection.transact(() => releaseLease(name, this.#leasing.begin()), 'rows')
  }

  /** Remembers why nothing can be recorded: after a failed write, or from now on. */
  recordFailure(error: unknown): void {
    if (!(error instanceof AverbaError)) return
    if (!(error instanceof KeyringUnreadableError) && error.code !== 'STORE_UNSAFE' && !isFinal(error)) return
    this.#lastFailure = { error, at: fromInstant(this.#leasing.begin().now) }
  }

  /**
   * Tests whether the store is writable: inserts and deletes a row in one durable transaction, unless a write has
   * failed within the last minute, or the log was found moved or rolled back.
   *
   * @throws {AverbaError} `STORE_UNSAFE`, `STORE_BUSY`, `MOVED`, `ROLLED_BACK`, `CLOSED` when it is not writable, or
   * was not recently
   */
  async tryWriting(): Promise<void> {
    const lease = this.#leasing.begin()
    const failed = this.#lastFailure
    if (failed && (isFinal(failed.error) || isWithin(rememberedMs, failed.at, fromInstant(lease.now))))
      throw failed.error
    const name = `trial-${lease.owner}`
    await this.#connection.transact(function* (): Steps<void> {
      yield* checkNotMoved()
      yield* takeLease(name, lease)
      yield* releaseLease(name, lease)
    })
  }
}

/** For this long a failed write counts more than a test row that succeeds: a nearly full disk may accept one row. */
const rememberedMs = 60_000

/** Whether no later write of this process can succeed. */
function isFinal({ code }: AverbaError): boolean {
  return code === 'MOVED' || code === 'ROLLED_BACK'
}

/** Takes a lease that is over, by the condition of `isLeaseOver`, or extends the owner's. */
function* takeLease(name: string, { owner, now, until, latest }: Lease): Steps<boolean> {
  const upsert = db
    .insertInto('lease')
    .values({ name, owner, until })
    .onConflict(on =>
      on
        .column('name')
        .doUpdateSet({ owner, until })
        .where(eb =>
          eb.or([eb('lease.owner', '=', owner), eb('lease.until', '<=', now), eb('lease.until', '>', latest)]),
        ),
    )
  return (yield* first(upsert.returning('name'))) !== undefined
}

function* releaseLease(name: string, { owner }: Lease): Steps<void> {
  yield* rows(db.deleteFrom('lease').where('name', '=', name).where('owner', '=', owner))
}

export interface SharedSecret {
  readonly generation: number
  readonly value: string
}

type SecretRow = Schema['secret']

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

  constructor(connection: Connection, vault: Vault, leasing: Leasing) {
    this.leases = new Leases(connection, leasing)
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
    await this.#put(name, generation, value, '<=', generation)
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
      const generation = row?.generation ?? 0
      if (await this.#put(name, generation + 1, value, '=', generation)) return value
    }
  }

  async drop(name: string, before: number): Promise<void> {
    const older = db.deleteFrom('secret').where('name', '=', name).where('generation', '<', before)
    await this.#connection.transact(() => rows(older))
  }

  async #readRow(name: string): Promise<SecretRow | undefined> {
    const query = db.selectFrom('secret').selectAll().where('name', '=', name)
    const row = await this.#connection.read(() => first(query))
    // Another process has begun a newer epoch.
    if (row && row.epoch > this.#vault.keyring.epoch) await this.#vault.keyring.refresh()
    return row
  }

  #open(name: string, { generation, epoch, sealed }: SecretRow): string | undefined {
    return this.#vault.openSecret(sealingPlace(name, generation), epoch, sealed)
  }

  /** Stores a value if none is stored, or one whose generation compares so. False when it stored nothing. */
  #put(name: string, generation: number, value: string, compares: '<=' | '=', stored: number): Promise<boolean> {
    const vault = this.#vault
    const steps = function* (): Steps<boolean> {
      // Under an epoch that another process has destroyed, nobody could open it.
      const { epoch = 0 } = (yield* first(db.selectFrom('head').select('epoch'))) ?? {}
      if (epoch > vault.keyring.epoch) throw new EpochMissingError(epoch, vault.keyring.epoch)
      const secret = { generation, ...vault.sealSecret(sealingPlace(name, generation), value) }
      const insert = db.insertInto('secret').values({ name, ...secret })
      const upsert = insert.onConflict(on =>
        on.column('name').doUpdateSet(secret).where('secret.generation', compares, stored),
      )
      return (yield* first(upsert.returning('name'))) !== undefined
    }
    return vault.keyring.withRefresh(() => this.#connection.transact(steps))
  }
}

/** Reseals every secret that opens under the newest epoch, so that older epochs can be destroyed. */
export function* resealSecrets(vault: Vault): Steps<void> {
  const older = yield* rows(db.selectFrom('secret').selectAll().where('epoch', '<', vault.keyring.epoch))
  for (const { name, generation, epoch, sealed } of older) {
    const place = sealingPlace(name, generation)
    const value = vault.openSecret(place, epoch, sealed)
    if (value === undefined) continue
    yield* rows(db.updateTable('secret').set(vault.sealSecret(place, value)).where('name', '=', name))
  }
}

function sealingPlace(name: string, generation: number): string {
  return `secret ${name}/${generation}`
}
