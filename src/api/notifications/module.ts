import { unlessStopped } from '../../store/views/view-reader.ts'
import type { Area } from '../area.ts'
import type { Troubled } from '../figures.ts'
import { foundTroubled } from '../found.ts'
import type { Module } from '../module.ts'
import { createNotifications, type Notifications } from './notifications.ts'

/** The inbox (document 3). */
export interface NotificationMethods {
  readonly notifications: Notifications
}

/** Makes the module of the inbox. */
export function createNotificationModule(area: Area): Module<NotificationMethods> {
  return {
    methods: { notifications: createNotifications(area) },
    checks: { notifications: async () => foundTroubled(await countTroubled(area.views)) },
    figures: async () => ({ notifications: (await unlessStopped(countTroubled(area.views))) ?? null }),
  }
}

/** Counts the notifications that a handler failed at, however many there are that nothing is wrong with. */
async function countTroubled(views: Area['views']): Promise<Troubled> {
  const rows = await views
    .selectFrom('notifications')
    .select(eb => ['trouble', eb.fn.countAll<number>().as('count')])
    .where('trouble', 'is not', null)
    .groupBy('trouble')
    .execute()
  const of = (state: keyof Troubled) => Number(rows.find(each => each.trouble === state)?.count ?? 0)
  return { failing: of('failing'), parked: of('parked') }
}
