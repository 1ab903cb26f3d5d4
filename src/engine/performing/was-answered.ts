import type { EffectEvent } from '../../machines/effect.ts'
import type { Store } from '../../store/store.ts'
import type { Owed } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'
import type { RecordedOf } from '../../vocabulary/view.ts'

/**
 * Reports whether the service answered an attempt at a call that was put off or given up after it: it knows then what
 * the call carries. A call that only reads leaves no trace.
 */
export async function wasAnswered(store: Store, owed: Pick<Owed, 'id' | 'position'>): Promise<boolean> {
  const filter = { stream: effectStream(owed), types: ['effect.deferred', 'effect.parked'] }
  for (let after = 0; ; ) {
    const page = (await store.read({ ...filter, after })) as readonly RecordedOf<EffectEvent>[] // Its machine's own.
    if (page.some(({ data }) => 'isAnswered' in data && data.isAnswered)) return true
    const last = page.at(-1)
    if (!last) return false
    after = last.position
  }
}
