import type { Performer, Performers } from './adapters/performer.ts'
import type { Area } from './area.ts'
import { toInstant } from './clock.ts'
import type { Outcome, Owed } from './message.ts'

const dayMs = 86_400_000
const defaultRetentionDays = 30

/** What an erasure owes beside its own transaction. Each may be done again: cut off, it goes on. */
export function createKeyPerformers(area: Area): Performers {
  return {
    'keys.rotate': toPerformer(owed => rotate(area, owed)),
    'keys.destroyEpochs': toPerformer(owed => destroyEpochs(area, owed)),
  }
}

function toPerformer(perform: Performer['perform']): Performer {
  return { effectClass: 'idempotent', isLocal: true, perform, lost: () => ({ type: 'keys.lost', data: {} }) }
}

/** Wraps all other keys anew, empties the journal, and searches the file for what was destroyed. */
async function rotate({ store, clock, options }: Area, owed: Owed): Promise<Outcome> {
  const rotated = await store.owners.rotate(owed.position)
  if (!(await store.owners.emptyJournal()))
    return { status: 'deferred', because: 'a reader still needs the journal of the file' }
  const erased = await store.readAt(owed.position)
  const { endings = [] } = (erased?.data ?? {}) as { endings?: readonly string[] } // As the machine writes it.
  const { bytes, found } = await store.owners.searchFile(endings.map(ending => Buffer.from(ending, 'hex')))
  const { backupRetentionDays = defaultRetentionDays } = options
  const data = {
    ...rotated,
    searchedBytes: bytes,
    searchedFor: endings.length,
    found,
    copiesOpenUntil: toInstant(clock.now() + backupRetentionDays * dayMs),
  }
  return { status: 'settled', fact: { type: 'keys.rotated', data } }
}

async function destroyEpochs({ store }: Area, owed: Owed): Promise<Outcome> {
  const { epochs } = owed.data as { epochs: readonly number[] } // As the machine writes it.
  await store.owners.destroyEpochs(epochs)
  return { status: 'settled', fact: { type: 'keys.epochsDestroyed', data: { epochs } } }
}
