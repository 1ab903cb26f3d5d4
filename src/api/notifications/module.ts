import { undefinedIfStopped } from '../../store/views/view-reader.ts'
import type { ApiContext } from '../api-context.ts'
import { checkHandlers } from '../health-check.ts'
import type { HandlerTroubles, Module } from '../module.ts'
import { createNotifications, type Notifications } from './notifications.ts'

export type { Notifications } from './notifications.ts'

/** Creates the module of the inbox. */
export function createNotificationModule(context: ApiContext): Module<{ notifications: Notifications }> {
  return {
    methods: { notifications: createNotifications(context) },
    checks: { notifications: async () => checkHandlers(await countTroubled(context.views)) },
    figures: async () => ({ notifications: (await undefinedIfStopped(countTroubled(context.views))) ?? null }),
  }
}

async function countTroubled(views: ApiContext['views']): Promise<HandlerTroubles> {
  const rows = await views
    .selectFrom('notifications')
    .select(eb => ['trouble', eb.fn.countAll<number>().as('count')])
    .where('trouble', 'is not', null)
    .groupBy('trouble')
    .execute()
  const of = (state: keyof HandlerTroubles) => Number(rows.find(each => each.trouble === state)?.count ?? 0)
  return { failing: of('failing'), parked: of('parked') }
}
