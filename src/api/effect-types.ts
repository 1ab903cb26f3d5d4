import type { ConsentEffects } from '../adapters/consent/client.ts'
import type { PortalEffects } from '../adapters/portal/client.ts'
import type { TokenEffects } from '../adapters/token/client.ts'
import type { ValidationEffects } from '../adapters/validation/client.ts'
import type { ErasureCompleted } from '../machines/subject/messages.ts'
import type { ValidationEvent } from '../machines/validation.ts'
import type { DataOf, EndedBy, FactIn, PendingIn } from '../vocabulary/log-types.ts'
import type { Fact, PendingEffect } from '../vocabulary/message.ts'

export type KeyEffects = {
  'keys.rotate': { readonly data: unknown; readonly fact: KeyFact }
  'keys.destroyEpochs': { readonly data: Epochs; readonly fact: KeyFact }
}

interface Epochs {
  readonly epochs: readonly number[]
}

export type KeyFact =
  | Fact<'keys.rotated', ErasureCompleted>
  | Fact<'keys.epochsDestroyed', Epochs>
  | Fact<'keys.lost', object>

export type WithheldChange = Fact<
  'consent.withholdChange',
  { readonly asked: string; readonly sentBefore?: true; readonly isDone?: true; readonly isGivenUp?: true }
>

export type WithheldValidation = Fact<'validation.withhold', DataOf<ValidationEvent, 'validation.withheld'>>

type ServiceEffects = ConsentEffects & PortalEffects & TokenEffects & ValidationEffects & KeyEffects

/** The facts of guards, which withhold calls that must not be sent. */
interface Withheld {
  'consentService.changeStatus': WithheldChange
  'validationService.validatePerson': WithheldValidation
}

/** Every type of effect, with its data and the facts of its outcomes. */
export type EffectTypes = {
  readonly [T in keyof ServiceEffects]: {
    readonly data: ServiceEffects[T]['data']
    readonly fact: ServiceEffects[T]['fact'] | (T extends keyof Withheld ? Withheld[T] : never)
  }
}

export type PendingOf<T extends keyof EffectTypes> = PendingIn<EffectTypes, T>

export type OutcomeFact<T extends FactIn<EffectTypes>['type']> = Extract<FactIn<EffectTypes>, Fact<T>>

export type PendingUntil<T extends FactIn<EffectTypes>['type']> = PendingOf<EndedBy<EffectTypes, T>>

/** Reports whether an effect is of a type, and its event can be read: its data is then as a machine recorded it. */
export function isEffect<T extends keyof EffectTypes>(pending: PendingEffect, type: T): pending is PendingOf<T> {
  return pending.type === type && !pending.isDamaged
}
