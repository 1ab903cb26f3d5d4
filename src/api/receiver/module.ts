import type { Receiver } from '../../adapters/receiver/receiver.ts'
import type { ApiContext } from '../api-context.ts'
import type { Module } from '../module.ts'
import type { SubscriptionModule } from '../subscriptions/module.ts'
import { createReceiving } from './receiver.ts'

/** The receiver of the portal's notifications (document 3, section 6). */
export interface ReceiverMethods {
  readonly receiver: Receiver
}

/** Creates the module of the receiver. */
export function createReceiverModule(context: ApiContext, portal: SubscriptionModule): Module<ReceiverMethods> {
  const { receiver, refused } = createReceiving(context, portal)
  const { receiver: receiving, subscriptions = [] } = context.options
  return {
    methods: { receiver },
    checks: { receiver: async () => (receiving || subscriptions.length > 0 ? refused.check() : undefined) },
  }
}
