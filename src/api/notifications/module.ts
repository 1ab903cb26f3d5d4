import { unlessStopped } from '../../store/views/view-reader.ts'
import type { Area } from '../area.ts'
import { foundTroubled } from '../found.ts'
import type { Module } from '../module.ts'
import { createNotifications, type Notifications } from './notifications.ts'
import { countTroubled } from './troubled.ts'

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
