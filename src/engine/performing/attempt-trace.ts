import type { EffectEvent } from '../../machines/effect.ts'
import type { Store } from '../../store/store.ts'
import type { PendingEffect, RecordedEvent } from '../../vocabulary/message.ts'
import { effectStream } from '../../vocabulary/names.ts'
import type { RecordedOf } from '../../vocabulary/view.ts'

/** What the log records about the attempts at a call that changes something or costs money. Readings leave no trace. */
export interface AttemptTrace {
  /** The last attempt never reported back, so the service may have done the work. */
  readonly isInProgress: boolean
  /** The service answered an attempt without doing the work, so it has received the call's data. */
  readonly wasAnswered: boolean
}

const attemptTypes = ['effect.attempted', 'effect.deferred', 'effect.parked'] as const
type AttemptEvent = Extract<EffectEvent, { type: (typeof attemptTypes)[number] }>

/** Reads the trace of a call from its own stream. */
export async function readTrace(
  store: Pick<Store, 'read'>,
  pending: Pick<PendingEffect, 'id' | 'position'>,
): Promise<AttemptTrace> {
  const events: RecordedOf<AttemptEvent>[] = []
  for (let after = 0; ; ) {
    const page = await store.read({ stream: effectStream(pending), after })
    events.push(...page.filter(isAttempt))
    const last = page.at(-1)
    if (!last) return summarizeTrace(events)
    after = last.position
  }
}

export function isAttempt(event: RecordedEvent): event is RecordedOf<AttemptEvent> {
  return attemptTypes.some(type => type === event.type)
}

/** Derives the trace from events of one call that were already read, in order. */
export function summarizeTrace(events: readonly RecordedOf<AttemptEvent>[]): AttemptTrace {
  return {
    isInProgress: events.at(-1)?.type === 'effect.attempted',
    wasAnswered: events.some(({ data }) => 'isAnswered' in data && data.isAnswered === true),
  }
}

/** Reports whether a call's data may have left this process. */
export function mayHaveBeenSent({ isInProgress, wasAnswered }: AttemptTrace): boolean {
  return isInProgress || wasAnswered
}
