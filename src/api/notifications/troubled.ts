import type { Area } from '../area.ts'
import type { Troubled } from '../figures.ts'

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
