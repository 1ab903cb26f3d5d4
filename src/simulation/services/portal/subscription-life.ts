import { limits } from '../../../adapters/portal/wire.ts'
import { dayMs } from '../../../vocabulary/instant.ts'

/**
 * The life of a subscription at the portal, written from document 3, section 3, for the simulated portal alone:
 * it shares nothing with the machine that follows it from the client's side.
 */
export interface SubscriptionLife {
  readonly state: 'active' | 'deleted'
  readonly registeredAt: number
  readonly lastSuccessAt: number | undefined
  /** The first error since the last success. */
  readonly failingSince: number | undefined
  readonly deletedAt: number | undefined
  /** Why it was deleted automatically; at most 200 characters. */
  readonly reason: string | undefined
}

/** What happens to a subscription, and when, in milliseconds. */
export interface LifeInput {
  readonly type: 'deleteRequested' | 'delivered' | 'deliveryFailed' | 'timePassed'
  readonly at: number
}

/** What thirty days without any delivery mean: the contract speaks of errors only, so nothing by default. */
export type Silence = 'keep' | 'delete'

/** One line of the table: in a state, on an input, where the condition holds, the next state and what is noted. */
interface LifeRow {
  readonly state: SubscriptionLife['state']
  readonly input: LifeInput['type']
  readonly when?: 'onlyErrors' | 'silence'
  readonly next: SubscriptionLife['state']
  readonly notes: 'deletion' | 'deletionForErrors' | 'deletionForSilence' | 'success' | 'error'
}

/** The table of section 3, and what moves its counts. An input without a row changes nothing: there is no way back. */
const table: readonly LifeRow[] = [
  { state: 'active', input: 'deleteRequested', next: 'deleted', notes: 'deletion' },
  { state: 'active', input: 'timePassed', when: 'onlyErrors', next: 'deleted', notes: 'deletionForErrors' },
  { state: 'active', input: 'timePassed', when: 'silence', next: 'deleted', notes: 'deletionForSilence' },
  { state: 'active', input: 'delivered', next: 'active', notes: 'success' },
  { state: 'active', input: 'deliveryFailed', next: 'active', notes: 'error' },
  // A delivery that was under way at the deletion may still succeed.
  { state: 'deleted', input: 'delivered', next: 'deleted', notes: 'success' },
]

const windowMs = limits.deletionDays * dayMs

/** The first moment of a subscription. */
export function beginLife(at: number): SubscriptionLife {
  const times = { lastSuccessAt: undefined, failingSince: undefined, deletedAt: undefined }
  return { state: 'active', registeredAt: at, ...times, reason: undefined }
}

/** The life after an input. Time passes first: what was due before the input has already happened. */
export function live(life: SubscriptionLife, input: LifeInput, silence: Silence = 'keep'): SubscriptionLife {
  return step(step(life, { type: 'timePassed', at: input.at }, silence), input, silence)
}

function step(life: SubscriptionLife, input: LifeInput, silence: Silence): SubscriptionLife {
  const row = table.find(each => {
    return each.state === life.state && each.input === input.type && holds(each, life, input.at, silence)
  })
  return row ? { ...life, state: row.next, ...noted(row, life, input.at) } : life
}

function holds({ when }: LifeRow, life: SubscriptionLife, at: number, silence: Silence): boolean {
  if (when === 'onlyErrors') return life.failingSince !== undefined && life.failingSince + windowMs <= at
  if (when === 'silence') {
    return silence === 'delete' && life.failingSince === undefined && quietSince(life) + windowMs <= at
  }
  return true
}

function noted({ notes }: LifeRow, life: SubscriptionLife, at: number): Partial<SubscriptionLife> {
  const reason = `Exclusão automática: somente erros de entrega durante ${limits.deletionDays} dias`
  switch (notes) {
    case 'deletion':
      return { deletedAt: at }
    case 'deletionForErrors':
      return { deletedAt: (life.failingSince ?? at) + windowMs, reason }
    case 'deletionForSilence':
      return {
        deletedAt: quietSince(life) + windowMs,
        reason: `Exclusão automática: nenhuma entrega durante ${limits.deletionDays} dias`,
      }
    case 'success':
      return { lastSuccessAt: at, failingSince: undefined }
    case 'error':
      return { failingSince: life.failingSince ?? at }
  }
}

function quietSince({ lastSuccessAt, registeredAt }: SubscriptionLife): number {
  return lastSuccessAt ?? registeredAt
}
