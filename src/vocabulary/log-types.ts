import type { Fact, Message, PendingEffect, RecordedEvent } from './message.ts'

/** The events of a log, with the data of each type. Folders that know no machine are generic; the API binds them. */
export type EventMap = Readonly<Record<string, unknown>>

/** Which effects there are: by type, their data, and the facts of their outcomes. */
export type EffectMap = Readonly<Record<string, { readonly data: unknown; readonly fact: Fact }>>

export type TypeIn<M> = keyof M & string

/** The data that the messages of a union have, when they are of a type. */
export type DataOf<M extends Message, T> = M extends unknown ? (T extends M['type'] ? M['data'] : never) : never

/** The recorded events of some types, all by default: a union, so that a check of `type` gives `data` its type. */
export type RecordedIn<E extends EventMap, T extends string = TypeIn<E>> = {
  [K in T]: RecordedEvent<K, E[K & TypeIn<E>]>
}[T]

/** The effects in the ledger of some types, all by default: a union, as `RecordedIn`. */
export type PendingIn<M extends EffectMap, T extends TypeIn<M> = TypeIn<M>> = {
  [K in T]: PendingEffect<K, M[K]['data']>
}[T]

export type FactIn<M extends EffectMap> = M[TypeIn<M>]['fact']

export type EndedBy<M extends EffectMap, T extends string> = {
  [K in TypeIn<M>]: T extends M[K]['fact']['type'] ? K : never
}[TypeIn<M>]
