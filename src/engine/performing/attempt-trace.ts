import type { EffectEvent } from '../../machines/effect.ts'
import type { Store } from '../../store/store.ts'
import type { PendingEffect, RecordedEvent } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'
import type { RecordedOf } from '../../vocabulary/view.ts'

/**
 * What the log tells of the attempts at a call that changes or costs something. A call that only reads leaves no trace.
 */
export interface AttemptTrace {
  /** The last attempt never reported back: the service may have done what it asks for. */
  readonly isUnderWay: boolean
  /** The service answered an attempt, and did nothing: it was told what the call carries. */
  readonly wasAnswered: boolean
}

const types = ['effect.attempted', 'effect.deferred', 'effect.parked'] as const
type AttemptEvent = Extract<EffectEvent, { type: (typeof types)[number] }>

/** Reads the trace of a call from its own stream. */
export async function readTrace(
  store: Pick<Store, 'read'>,
  pending: Pick<PendingEffect, 'id' | 'position'>,
): Promise<AttemptTrace> {
  const events: RecordedOf<AttemptEvent>[] = []
  for (let after = 0; ; ) {
    // Its machine's own, of these types.
    const page = (await store.read({
      stream: effectStream(pending),
      types,
      after,
    })) as RecordedOf<AttemptEvent>[]
    events.push(...page)
    const last = page.at(-1)
    if (!last) return traceOf(events)
    after = last.position
  }
}

/** Reports whether an event is about an attempt at a call. */
export function isAttempt(event: RecordedEvent): event is RecordedOf<AttemptEvent> {
  return types.some(type => type === event.type)
}

/** The same, of the events of one call that were read already, in order. */
export function traceOf(events: readonly RecordedOf<AttemptEvent>[]): AttemptTrace {
  return {
    isUnderWay: events.at(-1)?.type === 'effect.attempted',
    wasAnswered: events.some(({ data }) => 'isAnswered' in data && data.isAnswered === true),
  }
}

/** Reports whether what a call carries has left this process: the service has it, or may have it. */
export function hasLeft({ isUnderWay, wasAnswered }: AttemptTrace): boolean {
  return isUnderWay || wasAnswered
}
