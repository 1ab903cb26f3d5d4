import { join } from 'node:path'
import type { Events } from '../src/index.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { createIds, systemEntropy } from '../src/runtime/entropy.ts'
import { Store } from '../src/store/store.ts'
import type { Append, StreamExpectation } from '../src/store/writing/append.ts'
import { views } from '../src/views/views.ts'
import type { View } from '../src/vocabulary/view.ts'

const at = '2026-11-20T12:00:00.000Z'

export const createId: () => string = createIds(systemClock, systemEntropy)

/** Opens a store on a file of a folder, as a host would. */
export function openStore(folder: string, name: string, some: readonly View[] = views): Promise<Store<Events>> {
  return Store.open<Events>({
    path: join(folder, name),
    views: some,
    clock: systemClock,
    entropy: systemEntropy,
    createId,
  })
}

/** A consent that appears, and then is amended again and again: headers of about 400 bytes. */
export function consentEvent(stream: string, version: number): Append['events'][number] {
  const reading = {
    consent: stream,
    controller: '12ABC34501DE35',
    createdAt: at,
    expiresAt: '2027-11-20T12:00:00.000Z',
    status: 'ATIVO',
    subject: '01kc1v7m4d000w3c5y2n8q6r9t',
  }
  return {
    stream,
    event: { type: version === 1 ? 'consent.appeared' : 'consent.amended', data: reading },
    causedBy: 'consentService.consentsListed',
    machine: { name: 'consent', version: 1 },
  }
}

/** One append of one event, with an exact expectation. */
export function appendOne(stream: string, version: number): Append {
  const expect: StreamExpectation = version === 1 ? 'none' : version - 1
  return { at, streams: [{ stream, expect }], events: [consentEvent(stream, version)] }
}

/** How many events a stream gets before its caller begins the next one. */
export const eventsPerStream = 20

/** Callers that append at the same time, each one event after the other to a stream of its own. */
export class Callers {
  readonly #store: Store
  readonly #streams: { name: string; version: number }[]

  constructor(store: Store, count: number) {
    this.#store = store
    this.#streams = Array.from({ length: count }, () => ({ name: `consent-${createId()}`, version: 0 }))
  }

  /** Appends so many events in all. */
  async append(count: number): Promise<void> {
    const each = Math.floor(count / this.#streams.length)
    await Promise.all(
      this.#streams.map(async stream => {
        for (let n = 0; n < each; n++) {
          if (stream.version === eventsPerStream) Object.assign(stream, { name: `consent-${createId()}`, version: 0 })
          stream.version += 1
          const { status } = await this.#store.append(appendOne(stream.name, stream.version))
          if (status !== 'appended') throw new TypeError(status)
        }
      }),
    )
  }
}
