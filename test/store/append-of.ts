import type { Append, StreamExpectation } from '../../src/store/writing/append.ts'
import type { Event, Parts } from '../../src/vocabulary/message.ts'

/** The time of the events of `appendOf`. */
export const at = '2030-01-01T00:00:00.000Z'

/** Builds an append to one stream: by default of one plain event, and with nothing else. */
export function appendOf(
  stream: string,
  expect: StreamExpectation = 'any',
  events: readonly (Partial<Event> & { readonly parts?: Parts })[] = [{}],
  others: Partial<Append> = {},
): Append {
  const machine = { name: 'bench', version: 1 }
  return {
    at,
    streams: [{ stream, expect }],
    events: events.map(({ parts, ...event }) => ({
      ...{ stream, causedBy: 'bench.do', machine, ...(parts && { parts }) },
      event: { type: 'bench.done', data: {}, ...event },
    })),
    ...others,
  }
}
