import { type Averba, AverbaError, type Call, type RecordSelector, type Views } from '../index.ts'
import { idOfStream, isStreamOf, streamOf } from '../vocabulary/names.ts'

/** The views that have a row for each stream of a kind. Their key has the name of the kind. */
const streamViews = ['subjects', 'consents', 'validations', 'notifications', 'subscriptions'] as const

type StreamView = (typeof streamViews)[number]

/** The row of a stream, with its view. */
export type StreamRow = { [N in StreamView]: { readonly view: N; readonly row: Views[N] } }[StreamView]

/** Finds the row of a stream, now or at a past position; `undefined` for a kind without a view. */
export async function findStreamRow(averba: Averba, stream: string, position?: number): Promise<StreamRow | undefined> {
  const kind = stream.split('-', 1)[0] ?? ''
  const view = streamViews.find(each => each === `${kind}s`)
  if (!view) return undefined
  const key = view === 'subjects' ? idOfStream(stream) : stream
  const { ref, table } = averba.views.dynamic
  const now = averba.views.selectFrom(table(view).as('rows')).selectAll().where(ref(kind), '=', key)
  const rows: readonly object[] =
    position === undefined ? await now.execute() : await readPastRows(averba, view, position)
  const row = rows.find(each => new Map(Object.entries(each)).get(kind) === key)
  return row && ({ view, row } as StreamRow) // The view of this name has these rows.
}

/** Reads the rows of a view as they were known at a position or an instant. */
export function readPastRows<N extends keyof Views>(averba: Averba, view: N, knownAt: number | string) {
  return averba.viewAsOf(view, typeof knownAt === 'number' ? { position: knownAt } : { at: knownAt })
}

/** Finds the consent of a stream, whose name may lack its kind. */
export async function requireConsent({ consents }: Averba, name: string): Promise<RecordSelector> {
  const stream = isStreamOf('consent', name) ? name : streamOf('consent', name)
  const found = await consents.of({ stream }).catch((cause: unknown) => {
    if (!(cause instanceof AverbaError) || cause.code !== 'NOT_FOUND') throw cause
    const hint = 'Give its stream, and not its id at the service'
    const message = 'Cannot find the consent: averba consents list has no such stream'
    throw new AverbaError('NOT_FOUND', message, { cause, hint })
  })
  if (found) return { subject: found.subject, id: found.id }
  throw new AverbaError('SUBJECT_ERASED', 'Cannot find the consent: its data subject was erased')
}

/** Reads the first items of a list that are wanted, and no further. */
export async function takeFirst<T>(
  all: AsyncIterable<T>,
  count: number,
  isWanted: (item: T) => boolean = () => true,
): Promise<T[]> {
  const taken: T[] = []
  for await (const each of all) {
    if (isWanted(each)) taken.push(each)
    if (taken.length >= count) break
  }
  return taken
}

/** Reads the calls of streams that have not ended. */
export async function readOpenCalls({ effects }: Averba, streams: ReadonlySet<string>): Promise<Call[]> {
  if (streams.size === 0) return []
  return takeFirst(effects.list({ state: 'open' }), Number.POSITIVE_INFINITY, ({ stream }) => streams.has(stream))
}

/** Reads what is shown of a stream: its state, its last events and, unless it is shown as it was, its open calls. */
export async function readStream(averba: Averba, stream: string, max: number, knownAt?: string | number) {
  const { log } = averba
  const state = await log.stateOf(stream, knownAt)
  const events = await takeFirst(log.read({ stream, fromVersion: state.version, backward: true }), max)
  const calls = await readOpenCalls(averba, new Set(knownAt === undefined ? [stream] : []))
  return { state, calls, events: events.reverse() }
}
