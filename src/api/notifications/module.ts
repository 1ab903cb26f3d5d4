import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import type { ApiContext } from '../api-context.ts'
import { checkHandlers, type HandlerTroubles, selectTroubled, toTroubles } from '../health-check.ts'
import type { Module } from '../module.ts'
import { createNotifications, type Notifications } from './notifications.ts'

export type { Notifications } from './notifications.ts'

export function createNotificationModule(context: ApiContext): Module<{ notifications: Notifications }> {
  return {
    methods: { notifications: createNotifications(context) },
    checks: { notifications: async () => checkHandlers(await countTroubled(context.views)) },
    figures: async () => ({ notifications: (await undefinedIfStopped(countTroubled(context.views))) ?? null }),
  }
}

async function countTroubled(views: ApiContext['views']): Promise<HandlerTroubles> {
  return toTroubles(await selectTroubled(views).execute())
}
