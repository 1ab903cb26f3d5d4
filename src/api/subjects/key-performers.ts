import type { ErasureSummary } from '../../machines/subject/erasure.ts'
import { dayMs, toInstant } from '../../vocabulary/instant.ts'
import type { AttemptOutcome, PendingEffect } from '../../vocabulary/message.ts'
import { idOfStream } from '../../vocabulary/names.ts'
import type { Performer, Performers } from '../../vocabulary/performer.ts'
import type { ApiContext } from '../api-context.ts'

const defaultRetentionDays = 30

/** The largest file that is rewritten: writers wait meanwhile, for seconds. */
const rewriteBytesMax = 256 * 1024 ** 2

/** The work of an erasure after its own transaction. Each step may be repeated. */
export function createKeyPerformers(context: ApiContext): Performers {
  return {
    'keys.rotate': toPerformer(pending => rotateKeys(context, pending)),
    'keys.destroyEpochs': toPerformer(pending => destroyEpochs(context, pending)),
  }
}

function toPerformer(perform: Performer['perform']): Performer {
  return {
    effectClass: 'idempotent',
    isLocal: true,
    perform,
    lostFact: () => ({ type: 'keys.lost', data: {} }),
  }
}

/** Rewraps all other keys, empties the journal, and searches the file for the destroyed bytes. */
async function rotateKeys({ store, clock, options }: ApiContext, pending: PendingEffect): Promise<AttemptOutcome> {
  const erased = await store.readAt(pending.position)
  // As the machine writes it.
  const { endings = [], parts = 0, isPartial = false } = (erased?.data ?? {}) as Partial<ErasureSummary>
  const subject = idOfStream(pending.stream)
  const rotated = await store.owners.rotate(pending.position, erased && { subject, at: erased.at, keepsKey: isPartial })
  const journalInUse = { status: 'deferred', reason: 'a reader still uses the journal of the file' } as const
  if (!(await store.owners.emptyJournal())) return journalInUse
  const pieces = endings.map(ending => Buffer.from(ending, 'hex'))
  let searched = await store.owners.searchFile(pieces)
  // Parts that cannot be searched for count as found.
  let unsearched = Math.max(0, parts - pieces.length)
  if ((searched.found > 0 || unsearched > 0) && searched.bytes <= rewriteBytesMax) {
    await store.owners.rewrite()
    if (!(await store.owners.emptyJournal())) return journalInUse
    searched = await store.owners.searchFile(pieces)
    unsearched = 0
  }
  const { bytes, found } = searched
  const { backupRetentionDays = defaultRetentionDays } = options
  const data = {
    ...rotated,
    searchedBytes: bytes,
    searchedFor: endings.length,
    found,
    unsearched,
    copiesOpenUntil: toInstant(clock.now() + backupRetentionDays * dayMs),
  }
  return { status: 'settled', fact: { type: 'keys.rotated', data } }
}

async function destroyEpochs({ store }: ApiContext, pending: PendingEffect): Promise<AttemptOutcome> {
  const { epochs } = pending.data as { epochs: readonly number[] } // As the machine writes it.
  await store.owners.destroyEpochs(epochs)
  return { status: 'settled', fact: { type: 'keys.epochsDestroyed', data: { epochs } } }
}
