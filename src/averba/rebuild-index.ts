import type { IndexRows, Module, Opener } from '../api/module.ts'
import { type SubjectRef, toSubjectRef } from '../api/subject-directory.ts'
import { yieldToEventLoop } from '../runtime/event-loop.ts'
import type { Store } from '../store/store.ts'
import type { IndexEntry } from '../store/writing/append.ts'

/** The number of index rows before and after a rebuild. */
export interface IndexRebuildResult {
  readonly before: number
  readonly after: number
  /** Data subjects found by ref only: their CPF leads to another one, enrolled while the index was missing. */
  readonly hidden: readonly SubjectRef[]
}

/** Rebuilds the index of CPFs and service ids from the log. Of erased data it finds failure records only. */
export async function rebuildKeyedIndex(store: Store, modules: readonly Module[]): Promise<IndexRebuildResult> {
  const makeRows = (): Readonly<Record<string, IndexRows>> =>
    Object.assign({}, ...modules.map(each => each.indexRows?.()))
  let rowsOf = makeRows()
  const indexEntries = new Map<string, IndexEntry>()
  const hidden = new Set<SubjectRef>()
  let begunAt: number | undefined
  for (let after = 0; ; ) {
    const { events, end } = await store.readWithEnd({ after })
    const from = begunAt ?? end
    begunAt = from
    if (events.some(({ type, position }) => type === 'subject.erased' && position > from)) {
      // The index would still find what was opened of the person before: all is read again.
      indexEntries.clear()
      rowsOf = makeRows()
      hidden.clear()
      begunAt = undefined
      after = 0
      continue
    }
    for (const event of events) {
      const open: Opener = (name, of = event.id) => store.open(`${of}/${name}`).catch(() => undefined)
      for (const { kind, text, value } of (await rowsOf[event.type]?.(event, open)) ?? []) {
        const digest = store.digest(kind, text)
        const key = `${kind} ${Buffer.from(digest).toString('hex')}`
        const older = indexEntries.get(key)
        if (kind === 'cpf' && older) hidden.add(toSubjectRef(older.value))
        // The newest entry counts, as it did when it was made.
        indexEntries.set(key, { kind, digest, value })
      }
    }
    after = events.at(-1)?.position ?? after
    await yieldToEventLoop()
    if (after < end) continue
    const rebuilt = await store.owners.replaceIndex([...indexEntries.values()], after)
    if (rebuilt) return { ...rebuilt, hidden: [...hidden] }
  }
}
