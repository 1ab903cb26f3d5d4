import type { ErasureCompleted, ErasureRequest, ErasureSummary } from '../../machines/subject/erasure.ts'
import type { DestroyedPart, ProvenEvent } from '../../proof/erasure.ts'
import { partPlaceKey } from '../../store/parts/parts.ts'
import type { Store } from '../../store/store.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { SubjectRef } from '../subject-directory.ts'

/** How an erasure was completed. `copiesOpenUntil` is null where the key is kept: as long as it is, copies open. */
export interface CompletedErasure extends Omit<ErasureCompleted, 'copiesOpenUntil'> {
  readonly at: Instant
  readonly copiesOpenUntil: Instant | null
}

/**
 * What an erasure destroyed, when, and how far it has come. Built from the log whenever it is asked for; what it names
 * can be checked offline with `checkErasureReceipt`.
 */
export interface ErasureReceipt {
  readonly format: 'averba erasure 1'
  /** The log's own name. */
  readonly log: string
  readonly subject: SubjectRef
  readonly requester: string
  readonly legalBasis: string
  /** Kinds of parts that were kept, and the key with them. */
  readonly keeps: readonly string[]
  readonly erasedAt: Instant
  readonly destroyed: {
    readonly parts: readonly DestroyedPart[]
    /** SHA-256 over the list of the parts, as the event of the erasure has it. */
    readonly list: string
    readonly keys: number
    readonly indexRows: number
    /** The calls that were cancelled. */
    readonly calls: readonly string[]
  }
  /** Null until every other key was wrapped anew and the file searched. */
  readonly completed: CompletedErasure | null
  /**
   * When the older epochs were destroyed: since then no backup opens what was sealed. Null until then, and for as long
   * as the key is kept.
   */
  readonly epochsDestroyedAt: Instant | null
  /** The events of it, as the tree has them. */
  readonly events: readonly ProvenEvent[]
  readonly limits: string
}

const limits =
  'It shows what was destroyed in the log, when, and that the rest of the log stayed as it was. It cannot show that ' +
  'nobody has a copy that the log does not know of. Until copiesOpenUntil, a backup of the store opens with a backup of ' +
  'its keyring. Where it is null since something was kept, the key is kept with it: while it is, backups open what they ' +
  'hold of the person, with the keyring as it is. A backup from before keeps its index, at any time: with a keyring of ' +
  'the log, it leads from the CPF to the ref, and so to what the log says of the ref in clear.'

const types = [
  'subject.erasureRequested',
  'subject.erased',
  'subject.erasureCompleted',
  'subject.epochsDestroyed',
]

/** Builds the receipt of the newest erasure of a subject from the log; `undefined` when there was none. */
export async function readReceipt(store: Store, subject: SubjectRef): Promise<ErasureReceipt | undefined> {
  const stream = streamOf('subject', subject)
  const all = await store.read({ stream, types })
  const from = all.findLastIndex(event => event.type === 'subject.erasureRequested')
  if (from === -1) return undefined
  const events = all.slice(from)
  const find = <D>(type: string) =>
    events.find(event => event.type === type) as RecordedEvent<string, D> | undefined // As the machine writes it.
  const request = find<ErasureRequest>('subject.erasureRequested')
  const erased = find<ErasureSummary>('subject.erased')
  if (!request || !erased) return undefined
  const completed = find<ErasureCompleted>('subject.erasureCompleted')
  const { requester, legalBasis, keeps } = request.data
  const parts = await store.owners.partsOf(subject)
  const began = await store.readAt(1)
  const { origin = '' } = (began?.data ?? {}) as { origin?: string } // The first event of every log.
  const kept = new Set(erased.data.kept)
  const isKeyKept = kept.size > 0
  const gone = parts.filter(part => part.position < erased.position && !kept.has(partPlaceKey(part)))
  return {
    format: 'averba erasure 1',
    log: origin,
    ...{ subject, requester, legalBasis, keeps },
    erasedAt: erased.at,
    destroyed: {
      parts: gone.map(({ position, name, hash, leaf }) => ({ position, name, hash, leaf })),
      list: erased.data.list,
      keys: isKeyKept ? 0 : 1,
      indexRows: erased.data.indexRows,
      calls: erased.cancels ?? [],
    },
    completed: completed
      ? { ...completed.data, at: completed.at, ...(isKeyKept && { copiesOpenUntil: null }) }
      : null,
    epochsDestroyedAt: isKeyKept ? null : (find('subject.epochsDestroyed')?.at ?? null),
    events: await Promise.all(events.map(event => proven(store, event.position))),
    limits,
  }
}

async function proven(store: Store, position: number): Promise<ProvenEvent> {
  const found = await store.owners.leafAt(position)
  if (!found) throw new TypeError(`There is no event at ${position}`)
  return { position, ...found }
}
