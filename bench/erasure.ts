import { join } from 'node:path'
import { systemClock } from '../src/runtime/clock.ts'
import { systemEntropy } from '../src/runtime/entropy.ts'
import { Store } from '../src/store/store.ts'
import { toInstant } from '../src/vocabulary/instant.ts'
import type { Figures, Say } from './measure.ts'
import { createId } from './workload.ts'

const owners = 100_000
const together = 500

/**
 * Erasing one of so many persons: every other key is wrapped by a new epoch, in batches, durable; then the journal is
 * emptied. In seconds of this machine.
 */
export async function benchErasure(folder: string, say: Say): Promise<Figures> {
  const store = await Store.open({
    path: join(folder, 'log.sqlite'),
    views: [],
    clock: systemClock,
    entropy: systemEntropy,
    createId,
  })
  try {
    for (let from = 0; from < owners; from += together) {
      await Promise.all(Array.from({ length: together }, () => enrol(store)))
    }
    say(`  a log of ${owners} persons, each with a key and a part`)
    const started = performance.now()
    const { rewrapped } = await store.owners.rotate(owners)
    if (!(await store.database.emptyJournal())) throw new Error('The journal could not be emptied')
    const seconds = (performance.now() - started) / 1_000
    if (rewrapped !== owners) throw new Error(`${rewrapped} keys were wrapped anew instead of ${owners}`)
    say(`  ${rewrapped} keys were wrapped anew in ${seconds.toFixed(2)} s`)
    return { erase100kSeconds: Number(seconds.toFixed(2)) }
  } finally {
    await store.close()
  }
}

async function enrol(store: Store): Promise<void> {
  const subject = createId()
  const stream = `subject-${subject}`
  await store.append({
    at: toInstant(systemClock.now()),
    streams: [{ stream, expect: 'none', isNew: true }],
    events: [
      {
        stream,
        event: { type: 'subject.enrolled', data: { subject, origin: 'host' } },
        causedBy: 'subject.enrol',
        machine: { name: 'subject', version: 1 },
        parts: { cpf: { owner: stream, value: '25774435016' } },
      },
    ],
  })
}
