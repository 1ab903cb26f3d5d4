import type { InferResult } from 'kysely'
import type { Faults } from '../../proof/faults.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import { readPages, rows, type Steps } from '../database/connection.ts'
import { db } from '../database/schema.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { parseHeader } from '../log/header.ts'

/** The states a call may have in the ledger while the log says it is open. */
const openStates = ['pending', 'started', 'deferred']
const endedStates = ['settled', 'declined', 'cancelled']
const callsPerPage = 1_000

/** Replays the events about calls and compares the ledger with them. Only a page of the calls is held in memory. */
export class LedgerCheck {
  readonly #snapshot: Snapshot

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
    snapshot.run(function* () {
      for (const sql of createTable) yield* rows({ sql, parameters: [] })
    })
  }

  addHeaders(texts: readonly string[]): void {
    // Most events do not concern calls: a text search avoids parsing them again.
    const aboutCalls = texts.filter(text => /"(cancels|effects|settles|moves|resolves)":/.test(text))
    this.#snapshot.run(function* () {
      for (const text of aboutCalls) yield* addEvent(parseHeader(text))
    })
  }

  async compare(faults: Faults): Promise<void> {
    for await (const page of readPages(this.#snapshot, comparedEffects))
      for (const row of page)
        if (!isSameCall(row))
          faults.add('effects', `the call ${row.position}/${row.n} has another state than the log says`)
    for await (const page of readPages(this.#snapshot, missingEffects))
      for (const { position, n } of page) faults.add('effects', `the call ${position}/${n} is missing in the ledger`)
  }
}

function* addEvent(event: RecordedEvent): Steps<void> {
  const { settles, moves, resolves, cancels = [], position, stream } = event
  if (settles) yield* setCallState(settles.effect, settles.as, position)
  if (moves) yield* setCallState(moves.effect, moves.to, null)
  for (const [n, { type }] of (event.effects ?? []).entries()) {
    const id = `${stream}/${event.version}/${n}`
    // A tampered value may have any type, which must be reported as a fault, not thrown as an error.
    yield* rows({ sql: insertCall, parameters: [id, Number(position), n, String(type), String(stream)] })
  }
  for (const effect of cancels) yield* setCallState(effect, 'cancelled', position)
  if (resolves)
    yield* rows({
      sql: resolveNewest,
      parameters: [String(resolves.as), Number(position), String(stream), String(resolves.effect)],
    })
}

function* setCallState(effect: string, state: string, settledAt: number | null): Steps<void> {
  const at = settledAt === null ? null : Number(settledAt)
  yield* rows({ sql: updateCallState, parameters: [String(state), at, String(effect)] })
}

/** The effects as the events say: a temporary table. */
type CallCheck = {
  'temp.call_check': {
    effect: string
    position: number
    n: number
    type: string
    stream: string
    state: string
    settled_at: number | null
  }
}

type EffectPlace = Pick<CallCheck['temp.call_check'], 'position' | 'n'>
const firstPlace: EffectPlace = { position: 0, n: -1 }

/** The rows of the ledger, with what the events say of them: `null` where they say nothing. */
function comparedEffects({ position, n }: EffectPlace = firstPlace) {
  return db
    .$extendTables<CallCheck>()
    .selectFrom('effect')
    .leftJoin('stream', 'stream.key', 'effect.stream')
    .leftJoin('temp.call_check as expected', join =>
      join.onRef('expected.position', '=', 'effect.position').onRef('expected.n', '=', 'effect.n'),
    )
    .select(['effect.position', 'effect.n', 'effect.type', 'effect.state', 'effect.is_open', 'effect.settled_at'])
    .select(['stream.name', 'expected.type as expectedType', 'expected.stream as expectedStream'])
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
    .selectFrom('temp.call_check as expected')
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
  const isOpen = !endedStates.includes(expectedState)
  const isState = openStates.includes(expectedState) ? openStates.includes(row.state) : row.state === expectedState
  const isEnd = row.settled_at === expectedEnd && row.is_open === (isOpen ? 1 : 0)
  return row.type === expectedType && row.name === expectedStream && isState && isEnd
}

const createTable = [
  `create temp table call_check (effect text primary key, position integer, n integer not null,
    type text not null, stream text not null, state text not null, settled_at integer) without rowid`,
  'create index temp.call_check_place on call_check (position, n)',
  "create index temp.call_check_unknown on call_check (stream, type, position, n) where state = 'unknown'",
]
const insertCall = `insert or replace into temp.call_check (effect, position, n, type, stream, state, settled_at)
  values (?, ?, ?, ?, ?, 'pending', null)`
const updateCallState = 'update temp.call_check set state = ?, settled_at = ? where effect = ?'
const resolveNewest = `update temp.call_check set state = ?, settled_at = ? where effect = (
  select effect from temp.call_check where stream = ? and type = ? and state = 'unknown'
  order by settled_at desc limit 1)`
