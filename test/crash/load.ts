import { writeSync } from 'node:fs'
import { systemClock } from '../../src/runtime/clock.ts'
import { createIds } from '../../src/runtime/entropy.ts'
import { seededEntropy } from '../../src/simulation/world/seeded-entropy.ts'
import { locatePostgres, openPostgres } from '../../src/store/database/postgres.ts'
import { Store } from '../../src/store/store.ts'
import type { Append } from '../../src/store/writing/append.ts'
import { tokens } from '../../src/views/tokens.ts'
import type { View } from '../../src/vocabulary/view.ts'

export interface LoadOptions {
  /** The path of the store, or its address on PostgreSQL. */
  readonly path: string
  /** The path of the keyring of a store on PostgreSQL. */
  readonly keyring?: string
  /** The port of the simulated services, for engines of a fleet. */
  readonly port?: number
  /** How far the clock of its machine is ahead, in milliseconds. */
  readonly aheadMs?: number
  /** Determines all command ids and random bytes. Children that share a file have different seeds. */
  readonly seed: number
  readonly callers: number
  /** The appends of each caller; unlimited when absent. */
  readonly appends?: number
  /** The size of the write-ahead log, in pages, at which SQLite makes a checkpoint; by default the store's own. */
  readonly checkpointPages?: number
  /** Reduces durability deliberately, to show that the checks notice it. */
  readonly isWeakened?: boolean
}

/** A message of a child, one line of JSON, sent at the moment when it becomes true. */
export type LoadMessage =
  | { readonly type: 'opened' }
  | {
      readonly type: 'acknowledged'
      readonly commandId: string
      readonly events: readonly { readonly id: string; readonly position: number }[]
    }
  | { readonly type: 'enrolled'; readonly commandId: string; readonly cpf: string; readonly subject: string }
  | { readonly type: 'validated'; readonly id: string; readonly cpf: string; readonly status: string }
  | { readonly type: 'notified'; readonly number: string }
  /** An error with a code of averba: the command was not recorded. */
  | { readonly type: 'failed'; readonly code: string }
  | { readonly type: 'broken'; readonly what: string }
  | { readonly type: 'closed' }

export type AcknowledgedMessage = Extract<LoadMessage, { type: 'acknowledged' }>

/** Sends a message with one synchronous system call. */
export function sendMessage(message: LoadMessage): void {
  writeSync(1, `${JSON.stringify(message)}\n`)
}

/** Parses the messages of a child, without an incomplete last line. */
export function parseMessages(text: string): LoadMessage[] {
  const lines = text.split('\n').slice(0, -1)
  return lines.map(line => JSON.parse(line) as LoadMessage) // Written by `sendMessage`.
}

/** Opens a store as the load does. It is seeded, so that even the names of temporary files are repeatable. */
export function openStore(
  path: string,
  seed: number,
  views: readonly View[] = [tokens],
  keyring?: string,
): Promise<Store> {
  const entropy = seededEntropy(seed)
  const others = { views, clock: systemClock, entropy, createId: createIds(systemClock, entropy) }
  if (keyring === undefined) return Store.open({ path, ...others })
  const open = async () => openPostgres(await locatePostgres(path))
  return Store.open({ path: 'postgres:', keyring, medium: { open, keyring: create => create() }, ...others })
}

/**
 * Creates the append of a command: on each stream an event with the number of events (`of`), and an effect, a sealed part
 * and an index entry, so that every table has rows.
 */
export function createAppend(store: Store, commandId: string, streams: Append['streams']): Append {
  return {
    at: '2030-01-01T00:00:00.000Z',
    streams,
    events: streams.map(({ stream }, i) => ({
      stream,
      event: {
        type: 'token.requested',
        data: { of: streams.length },
        ...(i === 0 && { effects: [{ type: 'tokenService.requestToken', data: {} }] }),
      },
      causedBy: 'token.request',
      machine: { name: 'token', version: 1 },
      ...(i === 0 && { parts: { secret: { owner: `owner-${stream}`, value: commandId } } }),
    })),
    about: { commandId },
    receipt: { commandId, digest: store.digest('command', commandId), code: 'accepted', detail: '' },
    indexEntries: [{ kind: 'crash', digest: store.digest('crash', commandId), value: commandId }],
  }
}
