import type { InferResult } from 'kysely'
import type { Faults } from '../../proof/faults.ts'
import { isObject, type RecordedHeader } from '../../proof/recorded-header.ts'
import { openStates } from '../../vocabulary/message.ts'
import { readPages, rows, type Statement, together } from '../database/connection.ts'
import type { Reading } from '../database/reading.ts'
import { db } from '../database/schema.ts'

/** The states of which the ledger may have another one than the log says. */
const timedStates = ['pending', 'started', 'deferred']
const callsPerPage = 1_000

/** Replays the events about calls and compares the ledger with them. Only a page of the calls is held in memory. */
export class LedgerCheck {
  readonly #reading: Reading

  private constructor(reading: Reading) {
    this.#reading = reading
  }

  static async begin(reading: Reading): Promise<LedgerCheck> {
    await reading.read(() => together(createTable.map(sql => rows({ sql, parameters: [] }))))
    return new LedgerCheck(reading)
  }

  async addEvents(events: readonly RecordedHeader[]): Promise<void> {
    const changes = events.flatMap(event => [...changesOf(event)])
    await this.#reading.read(() => together(changes.map(rows)))
  }

  async compare(faults: Faults): Promise<void> {
    for await (const page of readPages(this.#reading, comparedEffects))
      for (const row of page)
        if (!isSameCall(row))
          faults.add('effects', `the call ${row.position}/${row.n} has another state than the log says`)
    for await (const page of readPages(this.#reading, missingEffects))
      for (const { position, n } of page) faults.add('effects', `the call ${position}/${n} is missing in the ledger`)
  }
}

/** The statements that repeat what an event says of calls. They run in order. A tampered value may have any type. */
function* changesOf(event: RecordedHeader): Iterable<Statement> {
  const { settles, moves, resolves, cancels, effects, position, stream } = event
  if (isObject(settles)) yield setCallState(settles.effect, settles.as, position)
  if (isObject(moves)) yield setCallState(moves.effect, moves.to, null)
  for (const [n, { type }] of effects.entries())
    yield { sql: insertCall, parameters: [`${stream}/${event.version}/${n}`, position, n, type, stream].map(storable) }
  if (Array.isArray(cancels)) for (const effect of cancels) yield setCallState(effect, 'cancelled', position)
  if (isObject(resolves))
    yield { sql: resolveNewest, parameters: [resolves.as, position, stream, resolves.effect].map(storable) }
}

function setCallState(effect: unknown, state: unknown, settledAt: number | null): Statement {
  return { sql: updateCallState, parameters: [storable(state), settledAt, storable(effect)] }
}

/** No server stores the character NUL, nor SQLite an object. */
function storable(value: unknown): string | number {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? value.replaceAll('\0', '') : ''
}

/** The effects as the events say: a temporary table. */
type CallCheck = {
  call_check: {
    effect: string
    position: number
    n: number
    type: string
    stream: string
    state: string
    settled_at: number | null
  }
}

type EffectPlace = Pick<CallCheck['call_check'], 'position' | 'n'>
const firstPlace: EffectPlace = { position: 0, n: -1 }

/** The rows of the ledger, with what the events say of them: `null` where they say nothing. */
function comparedEffects({ position, n }: EffectPlace = firstPlace) {
  return db
    .$extendTables<CallCheck>()
    .selectFrom('effect')
    .leftJoin('stream', 'stream.key', 'effect.stream')
    .leftJoin('call_check as expected', join =>
      join.onRef('expected.position', '=', 'effect.position').onRef('expected.n', '=', 'effect.n'),
    )
    .select(['effect.position', 'effect.n', 'effect.type', 'effect.state', 'effect.is_open', 'effect.due_at'])
    .select(['effect.settled_at', 'stream.name', 'expected.type as expectedType', 'expected.stream as expectedStream'])
    .select(['expected.state as expectedState', 'expected.settled_at as expectedEnd'])
    .where(({ eb, refTuple, tuple }) => eb(refTuple('effect.position', 'effect.n'), '>', tuple(position, n)))
    .orderBy('effect.position')
    .orderBy('effect.n')
    .limit(callsPerPage)
}

/** The effects of the events that the ledger does not have. */
function missingEffects({ position, n }: EffectPlace = firstPlace) {
  return db
    .$extendTables<CallCheck>()
    .selectFrom('call_check as expected')
    .leftJoin('effect', join =>
      join.onRef('effect.position', '=', 'expected.position').onRef('effect.n', '=', 'expected.n'),
    )
    .select(['expected.position', 'expected.n'])
    .where('effect.n', 'is', null)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('expected.position', 'expected.n'), '>', tuple(position, n)))
    .orderBy('expected.position')
    .orderBy('expected.n')
    .limit(callsPerPage)
}

type ComparedEffect = InferResult<ReturnType<typeof comparedEffects>>[number]

function isSameCall({ expectedType, expectedStream, expectedState, expectedEnd, ...row }: ComparedEffect): boolean {
  if (expectedState === null) return false
  const isOpen = openStates.some(each => each === expectedState)
  const isTimed = timedStates.includes(expectedState)
  const isState = isTimed ? timedStates.includes(row.state) : row.state === expectedState
  const isEnd = row.settled_at === expectedEnd && row.is_open === (isOpen ? 1 : 0)
  const isDue = (row.due_at !== null) === isTimed
  return row.type === expectedType && row.name === expectedStream && isState && isEnd && isDue
}

const createTable = [
  `create temp table call_check (effect text primary key, position bigint, n bigint not null, type text not null,
    stream text not null, state text not null, settled_at bigint)`,
  'create index call_check_place on call_check (position, n)',
  "create index call_check_unknown on call_check (stream, type, position, n) where state = 'unknown'",
]
const insertCall = `insert into call_check (effect, position, n, type, stream, state, settled_at)
  values (?, ?, ?, ?, ?, 'pending', null) on conflict (effect) do update set position = excluded.position,
  n = excluded.n, type = excluded.type, stream = excluded.stream, state = excluded.state, settled_at = null`
const updateCallState = 'update call_check set state = ?, settled_at = ? where effect = ?'
const resolveNewest = `update call_check set state = ?, settled_at = ? where effect = (
  select effect from call_check where stream = ? and type = ? and state = 'unknown'
  order by settled_at desc limit 1)`
