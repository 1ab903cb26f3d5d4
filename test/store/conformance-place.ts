import type { Append, Appended } from '../../src/store/append.ts'
import type { Store } from '../../src/store/store.ts'
import type { StoreOptions } from '../../src/store/store-options.ts'

/** How a conformance test opens a store. */
export type ConformanceOptions = Partial<Pick<StoreOptions, 'views' | 'onViewStopped' | 'onCommitted'>>

/** An empty database: opened again, it gives the same log, as another process has it, where a dialect can. */
export interface Place {
  open(options?: ConformanceOptions): Promise<Store>
}

export const at = '2030-01-01T00:00:00.000Z'
export const machine = { name: 'token', version: 1 }
export const digest = new Uint8Array([1, 2, 3])

/** An append of plain events to one stream. */
export function toStream(stream: string, expect: Append['streams'][number]['expect'], count = 1): Append {
  const event = { type: 'token.rejected', data: { generation: 1 } }
  return {
    at,
    streams: [{ stream, expect }],
    events: Array.from({ length: count }, () => ({ stream, event, because: 'token.reject', machine })),
  }
}

/** Where the events of an append stand; nowhere when nothing was appended. */
export function positionsOf(appended: Appended): number[] {
  return appended.status === 'appended' ? appended.events.map(event => event.position) : []
}
