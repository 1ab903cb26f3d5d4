import type { Store } from '../../src/store/store.ts'
import type { Appended } from '../../src/store/writing/append.ts'

/** Appends the first event of a stream. */
export function appendTo(store: Store, name: string): Promise<Appended> {
  const stream = `subject-${name}`
  const event = { type: 'subject.enrolled', data: { subject: name, origin: 'host' } }
  return store.append({
    at: '2026-11-20T12:00:00.000Z',
    streams: [{ stream, expect: 'none' }],
    events: [{ stream, event, causedBy: 'subject.enrol', machine: { name: 'subject', version: 1 } }],
  })
}
