import { limits } from '../../../adapters/portal/wire.ts'
import { dayMs } from '../../../vocabulary/instant.ts'

/**
 * The life of a subscription at the portal, from document 3, section 3. It shares no code with the client's machine, so
 * that tests can compare the two.
 */
export interface SubscriptionLife {
  readonly state: 'active' | 'deleted'
  readonly registeredAt: number
  readonly lastSuccessAt: number | undefined
  /** The time of the first error since the last success. */
  readonly failingSince: number | undefined
  readonly deletedAt: number | undefined
  /** Why it was deleted automatically; at most 200 characters. */
  readonly reason: string | undefined
}

/** An input to a subscription, and its time in milliseconds. */
export interface LifeInput {
  readonly type: 'deleteRequested' | 'delivered' | 'deliveryFailed' | 'timePassed'
  readonly at: number
}

/** The effect of thirty days without any delivery. The contract mentions only errors, so the default is `keep`. */
export type Silence = 'keep' | 'delete'

/** One row of the table: for a state, an input and a condition, the next state and the members that it sets. */
interface LifeRow {
  readonly state: SubscriptionLife['state']
  readonly input: LifeInput['type']
  readonly when?: 'onlyErrors' | 'silence'
  readonly next: SubscriptionLife['state']
  readonly sets: 'deletion' | 'deletionForErrors' | 'deletionForSilence' | 'success' | 'error'
}

/** The table of section 3. An input without a row changes nothing; a deletion is final. */
const lifeTable: readonly LifeRow[] = [
  { state: 'active', input: 'deleteRequested', next: 'deleted', sets: 'deletion' },
  { state: 'active', input: 'timePassed', when: 'onlyErrors', next: 'deleted', sets: 'deletionForErrors' },
  { state: 'active', input: 'timePassed', when: 'silence', next: 'deleted', sets: 'deletionForSilence' },
  { state: 'active', input: 'delivered', next: 'active', sets: 'success' },
  { state: 'active', input: 'deliveryFailed', next: 'active', sets: 'error' },
  // A delivery that was under way at the deletion may still succeed.
  { state: 'deleted', input: 'delivered', next: 'deleted', sets: 'success' },
]

const windowMs = limits.deletionDays * dayMs

/** The life of a new subscription. */
export function beginLife(at: number): SubscriptionLife {
  const times = { lastSuccessAt: undefined, failingSince: undefined, deletedAt: undefined }
  return { state: 'active', registeredAt: at, ...times, reason: undefined }
}

/** Applies an input. Time passes first, so a deletion that was due before the input comes first. */
export function applyLifeInput(life: SubscriptionLife, input: LifeInput, silence: Silence = 'keep'): SubscriptionLife {
  return applyRow(applyRow(life, { type: 'timePassed', at: input.at }, silence), input, silence)
}

function applyRow(life: SubscriptionLife, input: LifeInput, silence: Silence): SubscriptionLife {
  const row = lifeTable.find(each => {
    return each.state === life.state && each.input === input.type && isConditionMet(each, life, input.at, silence)
  })
  return row ? { ...life, state: row.next, ...lifeChange(row, life, input.at) } : life
}

function isConditionMet({ when }: LifeRow, life: SubscriptionLife, at: number, silence: Silence): boolean {
  if (when === 'onlyErrors') return life.failingSince !== undefined && life.failingSince + windowMs <= at
  if (when === 'silence') {
    return silence === 'delete' && life.failingSince === undefined && silentSince(life) + windowMs <= at
  }
  return true
}

function lifeChange({ sets }: LifeRow, life: SubscriptionLife, at: number): Partial<SubscriptionLife> {
  const reason = `Exclusão automática: somente erros de entrega durante ${limits.deletionDays} dias`
  switch (sets) {
    case 'deletion':
      return { deletedAt: at }
    case 'deletionForErrors':
      return { deletedAt: (life.failingSince ?? at) + windowMs, reason }
    case 'deletionForSilence':
      return {
        deletedAt: silentSince(life) + windowMs,
        reason: `Exclusão automática: nenhuma entrega durante ${limits.deletionDays} dias`,
      }
    case 'success':
      return { lastSuccessAt: at, failingSince: undefined }
    case 'error':
      return { failingSince: life.failingSince ?? at }
  }
}

function silentSince({ lastSuccessAt, registeredAt }: SubscriptionLife): number {
  return lastSuccessAt ?? registeredAt
}
