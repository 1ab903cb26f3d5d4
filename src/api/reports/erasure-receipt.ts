import type { ErasureCompleted } from '../../machines/subject/messages.ts'
import type { CheckedReceipt, ProvenEvent } from '../../proof/erasure.ts'
import { readLeaf } from '../../store/log/read.ts'
import { findMentions } from '../../store/owners/survey.ts'
import { partPlaceKey } from '../../store/parts/parts.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { LogStore } from '../events.ts'
import type { SubjectRef } from '../subject-directory.ts'

/** How an erasure was completed. `copiesOpenUntil` is null while the key is kept, which opens copies. */
export interface CompletedErasure extends Omit<ErasureCompleted, 'copiesOpenUntil'> {
  readonly at: Instant
  readonly copiesOpenUntil: Instant | null
}

/** What an erasure destroyed and how far it has come, built from the log. `checkErasureReceipt` checks it offline. */
export interface ErasureReceipt extends CheckedReceipt {
  readonly format: 'averba erasure 1'
  readonly log: string
  readonly subject: SubjectRef
  /** Kinds of parts that were kept, together with the key. */
  readonly keeps: readonly string[]
  /** The consents whose denial or revocation was asked for and had not been made: nobody asks for it any more. */
  readonly endsGivenUp: number
  /** Null until all other keys were rewrapped and the file was searched. */
  readonly completed: CompletedErasure | null
  /** When the older epochs were destroyed, after which no backup opens the sealed data. Null while the key is kept. */
  readonly epochsDestroyedAt: Instant | null
  /** The events of the erasure, as leaves of the tree. */
  readonly events: readonly ProvenEvent[]
  readonly limits: string
}

const limits =
  'It shows what was destroyed in the log and when, and that the rest of the log did not change. It cannot show that no ' +
  'copies exist outside the log. Until copiesOpenUntil, a backup of the store can be opened with a backup of its ' +
  'keyring. If it is null because parts were kept, the key was kept with them: as long as it is, the current keyring ' +
  'opens what a backup holds of the person. A backup from before the erasure always keeps its index: with a keyring of ' +
  'the log, it leads from the CPF to the ref, and so to what the log says about the ref in clear.'

const types = [
  'subject.erasureRequested',
  'subject.erased',
  'subject.erasureCompleted',
  'subject.epochsDestroyed',
] as const

/** Builds the receipt of the newest erasure of a subject from the log; `undefined` when there was none. */
export async function readReceipt(store: LogStore, subject: SubjectRef): Promise<ErasureReceipt | undefined> {
  const stream = streamOf('subject', subject)
  const all = await store.read({ stream, types })
  const from = all.findLastIndex(event => event.type === 'subject.erasureRequested')
  if (from === -1) return undefined
  const events = all.slice(from)
  const request = events.find(event => event.type === 'subject.erasureRequested')
  const erased = events.find(event => event.type === 'subject.erased')
  if (!request || !erased) return undefined
  const completed = events.find(event => event.type === 'subject.erasureCompleted')
  const epochs = events.find(event => event.type === 'subject.epochsDestroyed')
  const { requester, legalBasis, keeps } = request.data
  const { parts } = await findMentions(store.database, store.headers, subject)
  const first = await store.readAt(1)
  const kept = new Set(erased.data.kept)
  const isKeyKept = kept.size > 0
  const destroyed = parts.filter(part => part.position < erased.position && !kept.has(partPlaceKey(part)))
  return {
    format: 'averba erasure 1',
    log: first?.type === 'log.began' ? first.data.origin : '',
    ...{ subject, requester, legalBasis, keeps },
    erasedAt: erased.at,
    destroyed: {
      parts: destroyed.map(({ position, name, hash, leaf }) => ({ position, name, hash, leaf })),
      list: erased.data.list,
      keys: isKeyKept ? 0 : 1,
      indexRows: erased.data.indexRows,
      calls: erased.cancels ?? [],
    },
    endsGivenUp: erased.data.endsGivenUp,
    completed: completed ? { ...completed.data, at: completed.at, ...(isKeyKept && { copiesOpenUntil: null }) } : null,
    epochsDestroyedAt: isKeyKept ? null : (epochs?.at ?? null),
    events: await Promise.all(events.map(event => readProvenEvent(store, event.position))),
    limits,
  }
}

async function readProvenEvent(store: Pick<LogStore, 'database' | 'headers'>, position: number): Promise<ProvenEvent> {
  const found = await store.database.read(() => readLeaf(store.headers, position))
  if (!found) throw new TypeError(`There is no event at ${position}`)
  return { position, ...found }
}
