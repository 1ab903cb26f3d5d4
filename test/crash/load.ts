import { writeSync } from 'node:fs'
import { systemClock } from '../../src/runtime/clock.ts'
import { createIds } from '../../src/runtime/entropy.ts'
import { seededEntropy } from '../../src/simulation/world/seeded-entropy.ts'
import { Store } from '../../src/store/store.ts'
import type { Append, Appended } from '../../src/store/writing/append.ts'
import { tokens } from '../../src/views/tokens.ts'
import type { View } from '../../src/vocabulary/view.ts'

/** What a child process is asked to do. */
export interface LoadOptions {
  /** The id that the process goes by: files that it names after that are known beforehand, and can be given faults. */
  readonly pid?: number
  readonly path: string
  /** Goes into every command id and every random byte: no two children of one file share it. */
  readonly seed: number
  /** How many callers append at the same time. */
  readonly callers: number
  /** How many appends each caller asks for; without it they go on until the process is killed. */
  readonly appends?: number
  /** Pages of the write-ahead log after which they move into the file, instead of the store's own number. */
  readonly checkpointPages?: number
  /** Breaks the promise of durability on purpose, to show that the checks would notice. */
  readonly isWeakened?: boolean
}

/** What a child says, a line of JSON each, at the moment when it is true. */
export type Said =
  | { readonly said: 'opened' }
  | { readonly said: 'acknowledged'; readonly commandId: string; readonly events: readonly Place[] }
  | { readonly said: 'enrolled'; readonly commandId: string; readonly cpf: string; readonly subject: string }
  | { readonly said: 'validated'; readonly id: string; readonly cpf: string; readonly status: string }
  | { readonly said: 'notified'; readonly number: string }
  /** An error with a code of ours: whoever reads it knows that nothing was recorded. */
  | { readonly said: 'failed'; readonly code: string }
  /** An error that nobody outside can make sense of. */
  | { readonly said: 'broken'; readonly what: string }
  | { readonly said: 'closed' }

/** Where an acknowledged event has to be found. */
export interface Place {
  readonly id: string
  readonly position: number
}

export type Acknowledged = Extract<Said, { said: 'acknowledged' }>

/** Says something, in one system call that has ended when it returns. */
export function say(said: Said): void {
  writeSync(1, `${JSON.stringify(said)}\n`)
}

/** Reads what a child said. A last line that it did not end was not said. */
export function heard(text: string): Said[] {
  const lines = text.split('\n').slice(0, -1)
  return lines.map(line => JSON.parse(line) as Said) // Written by `say`.
}

/** Opens a store as the load does. Seeded, so that even the names of temporary files are the same again. */
export function openStore(path: string, seed: number, views: readonly View[] = [tokens]): Promise<Store> {
  const entropy = seededEntropy(seed)
  return Store.open({ path, views, clock: systemClock, entropy, createId: createIds(systemClock, entropy) })
}

/**
 * The append of a command: on each stream an event that says of how many it is one, with a call owed, a sealed
 * part and a claim, so that every table has something to lose.
 */
export function appendOf(store: Store, commandId: string, streams: Append['streams']): Append {
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
    claims: [{ kind: 'crash', digest: store.digest('crash', commandId), value: commandId }],
  }
}

/** What a child says of an append that is done. */
export function acknowledge(commandId: string, { events }: Extract<Appended, { status: 'appended' }>): void {
  say({
    said: 'acknowledged',
    commandId,
    events: events.map(({ id, position }) => ({ id, position })),
  })
}
