import type { Receiver } from '../../adapters/receiver/receiver.ts'
import type { ApiContext } from '../api-context.ts'
import type { Module } from '../module.ts'
import type { SubscriptionModule } from '../subscriptions/module.ts'
import { createReceiving } from './receiver.ts'

/** Where the portal's notifications come in (document 3, section 6). */
export interface ReceiverMethods {
  readonly receiver: Receiver
}

/** Makes the module of the receiver. */
export function createReceiverModule(
  context: ApiContext,
  portal: SubscriptionModule,
): Module<ReceiverMethods> {
  const { receiver, refused } = createReceiving(context, portal)
  const { receiver: receiving, subscriptions = [] } = context.options
  return {
    methods: { receiver },
    checks: { receiver: async () => (receiving || subscriptions.length > 0 ? refused.look() : undefined) },
  }
}
