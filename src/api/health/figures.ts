import type { Followers } from '../../engine/following/followers.ts'
import type { UnderWay } from '../../engine/recording/recorder.ts'
import { endOfLog } from '../../store/log/position-before.ts'
import { unlessStopped } from '../../store/views/view-reader.ts'
import type { EffectState, Instant } from '../../vocabulary/message.ts'
import type { EffectClass } from '../../vocabulary/performer.ts'
import { type ServiceName, serviceNames, serviceOf } from '../../vocabulary/service-name.ts'
import type { Area } from '../area.ts'

/** Where averba stands, in numbers: for metrics. Nothing in it names anybody. */
export interface Figures {
  /** The end of the log. */
  readonly position: number
  /** Calls that have not ended. `other` is what this process does not know or is not configured for. */
  readonly effects: readonly OwedFigure[]
  /** Commands and facts that this process records, or that wait for it. At `max` they are turned away or wait. */
  readonly underWay: UnderWay
  /** How many events each view is behind the log. */
  readonly views: readonly { readonly view: string; readonly behind: number; readonly isRunning: boolean }[]
  readonly followers: { readonly count: number; readonly parked: number; readonly behindMax: number }
  /**
   * Notifications that a handler failed at: those that are tried again, and those that wait for a person; null while
   * their view stands still.
   */
  readonly notifications: Troubled | null
  readonly readings: {
    /** When consents were last read, of anybody. Both are null while the view of data subjects stands still, too. */
    readonly newestAt: Instant | null
    /**
     * The reading, or the enrolment of a subject never read, that is the longest ago among those that are read by
     * themselves.
     */
    readonly oldestAt: Instant | null
  }
}

/** How many notifications a handler failed at. */
export interface Troubled {
  readonly failing: number
  readonly parked: number
}

/** Calls of one service, class and state. */
export interface OwedFigure {
  readonly service: ServiceName | 'other'
  readonly effectClass: EffectClass | 'other'
  readonly state: EffectState
  readonly count: number
}

/** Counts, from the ledger, the views and the followers as they stand. */
export async function readFigures({ store, engine, views }: Area, followers: Followers): Promise<Figures> {
  const position = await store.reader.read(endOfLog)
  const followed = await followers.list()
  const behind = (at: number) => Math.max(0, position - at)
  return {
    position,
    effects: sum(
      (await store.countOwed()).map(({ type, state, count }) => ({
        service: serviceNames.find(name => name === serviceOf(type)) ?? 'other',
        effectClass: engine.classOf(type) ?? 'other',
        state,
        count,
      })),
    ),
    underWay: engine.underWay,
    views: (await store.checkpoints()).map(({ view, isRunning, position: at }) => {
      return { view, behind: behind(at), isRunning }
    }),
    followers: {
      count: followed.length,
      parked: followed.filter(each => each.isParked).length,
      behindMax: Math.max(0, ...followed.map(each => behind(each.position))),
    },
    notifications: (await unlessStopped(countTroubled(views))) ?? null,
    readings: await readReadings(views),
  }
}

/** One look at an index each, however many data subjects there are. */
async function readReadings(views: Area['views']): Promise<Figures['readings']> {
  const newest = await unlessStopped(newestReading(views).executeTakeFirst())
  const oldest = await unlessStopped(oldestReading(views).executeTakeFirst())
  return { newestAt: newest?.synced_at ?? null, oldestAt: oldest?.awaiting_since ?? null }
}

/** Asks when consents were last read, of anybody. */
export function newestReading(views: Area['views']) {
  const read = views.selectFrom('subjects').select('synced_at').where('synced_at', 'is not', null)
  return read.orderBy('synced_at', 'desc').limit(1)
}

/** Asks since when the one that waits the longest has waited, of those that are read by themselves. */
export function oldestReading(views: Area['views']) {
  const waiting = views
    .selectFrom('subjects')
    .select('awaiting_since')
    .where('awaiting_since', 'is not', null)
  return waiting.orderBy('awaiting_since').limit(1)
}

/** Counts the notifications that a handler failed at, however many there are that nothing is wrong with. */
export async function countTroubled(views: Area['views']): Promise<Troubled> {
  const rows = await views
    .selectFrom('notifications')
    .select(eb => ['trouble', eb.fn.countAll<number>().as('count')])
    .where('trouble', 'is not', null)
    .groupBy('trouble')
    .execute()
  const of = (state: keyof Troubled) => Number(rows.find(each => each.trouble === state)?.count ?? 0)
  return { failing: of('failing'), parked: of('parked') }
}

function sum(figures: readonly OwedFigure[]): OwedFigure[] {
  const sums = new Map<string, OwedFigure>()
  for (const figure of figures) {
    const key = `${figure.service} ${figure.effectClass} ${figure.state}`
    sums.set(key, { ...figure, count: figure.count + (sums.get(key)?.count ?? 0) })
  }
  return [...sums.values()]
}
