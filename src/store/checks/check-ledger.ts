import type { Faults } from '../../proof/faults.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import { rows, type Steps } from '../database/connection.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { parseHeader } from '../log/header.ts'

/** The states a call may have in the ledger while the log says it is open. */
const openStates = ['pending', 'started', 'deferred']
const endedStates = ['settled', 'declined', 'cancelled']
const callsPerPage = 1_000

/** Replays the events about calls and compares the ledger with them. Only a page of the calls is held in memory. */
export class LedgerCheck {
  readonly #snapshot: Snapshot

  private constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  static begin(snapshot: Snapshot): LedgerCheck {
    snapshot.run(function* () {
      for (const sql of createTable) yield* rows({ sql, parameters: [] })
    })
    return new LedgerCheck(snapshot)
  }

  addHeaders(texts: readonly string[]): void {
    // Most events do not concern calls: a text search avoids parsing them again.
    const aboutCalls = texts.filter(text => /"(cancels|effects|settles|moves|resolves)":/.test(text))
    this.#snapshot.run(function* () {
      for (const text of aboutCalls) yield* addEvent(parseHeader(text))
    })
  }

  async compare(faults: Faults): Promise<void> {
    for await (const row of this.#pages<ComparedEffect>(selectPage))
      if (!isSameCall(row))
        faults.add('effects', `the call ${row.position}/${row.n} has another state than the log says`)
    for await (const { position, n } of this.#pages<EffectPlace>(selectMissing))
      faults.add('effects', `the call ${position}/${n} is missing in the ledger`)
  }

  async *#pages<R extends EffectPlace>(sql: string): AsyncGenerator<R> {
    for (let last: EffectPlace = { position: 0, n: -1 }; ; ) {
      const { position, n } = last
      const page = this.#snapshot.run(() => rows<R>({ sql, parameters: [position, n, callsPerPage] }))
      yield* page
      const end = page.at(-1)
      if (!end) return
      last = end
      await yieldToEventLoop()
    }
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

interface EffectPlace {
  readonly position: number
  readonly n: number
}

/** A row of the ledger, with what the events say of it: `null` where they say nothing. */
interface ComparedEffect extends EffectPlace {
  readonly type: string
  readonly state: string
  readonly is_open: number
  readonly settled_at: number | null
  readonly name: string | null
  readonly expectedType: string | null
  readonly expectedStream: string | null
  readonly expectedState: string | null
  readonly expectedEnd: number | null
}

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
const selectPage = `select effect.position, effect.n, effect.type, effect.state, effect.is_open, effect.settled_at,
  stream.name, expected.type as "expectedType", expected.stream as "expectedStream", expected.state as "expectedState",
  expected.settled_at as "expectedEnd" from effect left join stream on stream.key = effect.stream
  left join temp.call_check as expected on expected.position = effect.position and expected.n = effect.n
  where (effect.position, effect.n) > (?, ?) order by effect.position, effect.n limit ?`
const selectMissing = `select expected.position, expected.n from temp.call_check as expected
  where (expected.position, expected.n) > (?, ?) and not exists (select 1 from effect
    where effect.position = expected.position and effect.n = expected.n)
  order by expected.position, expected.n limit ?`
