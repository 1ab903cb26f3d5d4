import type { Assinatura, AssinaturaListada } from '../../../adapters/portal/wire.ts'
import { formatBrasilia } from '../../../vocabulary/brasilia.ts'
import type { SubscriptionLife } from './subscription-life.ts'

/** A subscription as the simulated portal keeps it. */
export interface SimulatedSubscription {
  readonly id: number
  /** The number of the user that it belongs to. */
  readonly user: number
  evento: string
  endpoint: string
  chaveSecreta: string | undefined
  chaveAutenticacao: string | undefined
  life: SubscriptionLife
}

/** Converts a subscription to the answer of Subscribe. */
export function toAssinatura(subscription: SimulatedSubscription): Assinatura {
  const { id, evento, endpoint, chaveSecreta = null, chaveAutenticacao = null } = subscription
  return { id, evento, endpoint, chaveSecreta, chaveAutenticacao }
}

/** Converts a subscription to an element of a list, with its times and the reason of its deletion. */
export function toAssinaturaListada(subscription: SimulatedSubscription): AssinaturaListada {
  const { registeredAt, deletedAt, reason, lastSuccessAt } = subscription.life
  const text = (ms: number | undefined) => (ms === undefined ? null : formatBrasilia(ms))
  return {
    ...toAssinatura(subscription),
    dataRegistro: formatBrasilia(registeredAt),
    dataExclusao: text(deletedAt),
    motivoExclusao: reason ?? null,
    dataUltimoSucesso: text(lastSuccessAt),
  }
}
