import { endOfLog } from '../../store/log/position-before.ts'
import { serviceNames, serviceOf } from '../../vocabulary/service-name.ts'
import type { ApiContext } from '../api-context.ts'
import type { Figures, PendingFigure } from '../figures.ts'

type LogFigures = Pick<Figures, 'position' | 'effects' | 'underWay' | 'views' | 'followers'>

/** The current numbers of the ledger, the views and the followers. */
export async function readLogFigures({ store, engine, followers }: ApiContext): Promise<LogFigures> {
  const position = await store.reader.read(endOfLog)
  const followed = await followers.list()
  const behind = (at: number) => Math.max(0, position - at)
  return {
    position,
    effects: sumFigures(
      (await store.countPending()).map(({ type, state, count }) => ({
        service: serviceNames.find(name => name === serviceOf(type)) ?? 'other',
        effectClass: engine.classOf(type) ?? 'other',
        state,
        count,
      })),
    ),
    underWay: engine.inFlight,
    views: (await store.viewProgress()).map(({ view, isRunning, position: at }) => {
      return { view, behind: behind(at), isRunning }
    }),
    followers: {
      count: followed.length,
      parked: followed.filter(each => each.isParked).length,
      behindMax: Math.max(0, ...followed.map(each => behind(each.position))),
    },
  }
}

function sumFigures(figures: readonly PendingFigure[]): PendingFigure[] {
  const sums = new Map<string, PendingFigure>()
  for (const figure of figures) {
    const key = `${figure.service} ${figure.effectClass} ${figure.state}`
    sums.set(key, { ...figure, count: figure.count + (sums.get(key)?.count ?? 0) })
  }
  return [...sums.values()]
}
