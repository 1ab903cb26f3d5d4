import { type Assinatura, type AssinaturaListada, limits } from '../../../adapters/portal/wire.ts'
import { formatBrasilia } from '../../../vocabulary/brasilia.ts'
import { dayMs } from '../../../vocabulary/instant.ts'

/** A subscription's life at the portal (document 3, section 3). Shares no code with our machine: tests compare both. */
export interface SubscriptionLife {
  readonly state: 'active' | 'deleted'
  readonly registeredAt: number
  readonly lastSuccessAt?: number
  /** The time of the first error since the last success. */
  readonly failingSince?: number | undefined
  readonly deletedAt?: number
  /** Why it was deleted automatically; at most 200 characters. */
  readonly reason?: string
}

export interface LifeInput {
  readonly type: 'deleteRequested' | 'delivered' | 'deliveryFailed' | 'timePassed'
  readonly at: number
}

/** The effect of thirty days without any delivery. The contract mentions only errors, so the default is `keep`. */
type Silence = 'keep' | 'delete'

const windowMs = limits.deletionDays * dayMs

export function beginLife(at: number): SubscriptionLife {
  return { state: 'active', registeredAt: at }
}

/**
 * Applies an input as section 3 says. Time passes first, so a deletion that was due before the input comes first. A
 * deletion is final, but a delivery that was under way at the deletion may still succeed.
 */
export function applyLifeInput(
  before: SubscriptionLife,
  { type, at }: LifeInput,
  silence: Silence = 'keep',
): SubscriptionLife {
  const life = deleteWhenDue(before, at, silence)
  if (type === 'delivered') return { ...life, lastSuccessAt: at, failingSince: undefined }
  if (type === 'timePassed' || life.state === 'deleted') return life
  if (type === 'deliveryFailed') return { ...life, failingSince: life.failingSince ?? at }
  return { ...life, state: 'deleted', deletedAt: at }
}

/** Deletes an active subscription at the end of its window with only errors, or without any delivery. */
function deleteWhenDue(life: SubscriptionLife, at: number, silence: Silence): SubscriptionLife {
  const { state, failingSince, lastSuccessAt, registeredAt } = life
  const isSilent = failingSince === undefined && silence === 'delete'
  const since = isSilent ? (lastSuccessAt ?? registeredAt) : failingSince
  if (state === 'deleted' || since === undefined || since + windowMs > at) return life
  const cause = isSilent ? 'nenhuma entrega' : 'somente erros de entrega'
  const reason = `Exclusão automática: ${cause} durante ${limits.deletionDays} dias`
  return { ...life, state: 'deleted', deletedAt: since + windowMs, reason }
}

export interface SimulatedSubscription {
  readonly id: number
  readonly user: number
  evento: string
  endpoint: string
  chaveSecreta: string | null | undefined
  chaveAutenticacao: string | null | undefined
  life: SubscriptionLife
}

/** Converts a subscription to the answer of Subscribe. */
export function toAssinatura(subscription: SimulatedSubscription): Assinatura {
  const { id, evento, endpoint, chaveSecreta = null, chaveAutenticacao = null } = subscription
  return { id, evento, endpoint, chaveSecreta, chaveAutenticacao }
}

/** Converts a subscription to an element of a list, with its times and the reason of its deletion. */
export function toAssinaturaListada(subscription: SimulatedSubscription): AssinaturaListada {
  const { registeredAt, deletedAt, reason = null, lastSuccessAt } = subscription.life
  return {
    ...toAssinatura(subscription),
    dataRegistro: formatBrasilia(registeredAt),
    dataExclusao: deletedAt === undefined ? null : formatBrasilia(deletedAt),
    motivoExclusao: reason,
    dataUltimoSucesso: lastSuccessAt === undefined ? null : formatBrasilia(lastSuccessAt),
  }
}
