import type { Faults } from '../../proof/faults.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import { rows, type Steps } from '../database/connection.ts'
import type { Snapshot } from '../database/snapshot.ts'
import { parseHeader } from '../log/header.ts'

/** Where a call may stand in the ledger while its last event says that it is owed. */
const open = ['owed', 'started', 'deferred']
const ended = ['settled', 'declined', 'cancelled']
const pageRows = 1_000

/**
 * Replays what the events say of owed calls, and compares the ledger with it. Every call that ever existed goes into a
 * temporary table, and only a page of them into memory.
 */
export class LedgerCheck {
  readonly #snapshot: Snapshot

  private constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot
  }

  /** Begins with no call. */
  static begin(snapshot: Snapshot): LedgerCheck {
    snapshot.run(function* () {
      for (const sql of createTable) yield* rows({ sql, parameters: [] })
    })
    return new LedgerCheck(snapshot)
  }

  /** Hears of the next events, by their headers. */
  hear(texts: readonly string[]): void {
    // Most events say nothing of calls: they are not parsed again.
    const told = texts.filter(text => /"(cancels|effects|settles|moves|resolves)":/.test(text))
    this.#snapshot.run(function* () {
      for (const text of told) yield* hearOne(parseHeader(text))
    })
  }

  /** Compares every row of the ledger with the events, a page at a time. */
  async compare(faults: Faults): Promise<void> {
    for await (const row of this.#pages<ComparedEffect>(selectPage))
      if (!isSame(row))
        faults.add('effects', `the call ${row.position}/${row.n} stands elsewhere than the log says`)
    for await (const { position, n } of this.#pages<EffectPlace>(selectLacking))
      faults.add('effects', `the ledger lacks the call ${position}/${n}`)
  }

  async *#pages<R extends EffectPlace>(sql: string): AsyncGenerator<R> {
    for (let last: EffectPlace = { position: 0, n: -1 }; ; ) {
      const { position, n } = last
      const page = this.#snapshot.run(() => rows<R>({ sql, parameters: [position, n, pageRows] }))
      yield* page
      const end = page.at(-1)
      if (!end) return
      last = end
      await yieldToEventLoop()
    }
  }
}

function* hearOne(event: RecordedEvent): Steps<void> {
  const { settles, moves, resolves, cancels = [], position, stream } = event
  if (settles) yield* put(settles.effect, settles.as, position)
  if (moves) yield* put(moves.effect, moves.to, null)
  for (const [n, { type }] of (event.effects ?? []).entries()) {
    const id = `${stream}/${event.version}/${n}`
    // A tampered value may be of any type, which is a fault and must not be an error.
    yield* rows({ sql: insertCall, parameters: [id, Number(position), n, String(type), String(stream)] })
  }
  for (const effect of cancels) yield* put(effect, 'cancelled', position)
  if (resolves)
    yield* rows({
      sql: resolveNewest,
      parameters: [String(resolves.as), Number(position), String(stream), String(resolves.effect)],
    })
}

function* put(effect: string, state: string, settledAt: number | null): Steps<void> {
  const at = settledAt === null ? null : Number(settledAt)
  yield* rows({ sql: setState, parameters: [String(state), at, String(effect)] })
}

interface EffectPlace {
  readonly position: number
  readonly n: number
}

/** A row of the ledger, beside what the events say of it: `null` where they say nothing. */
interface ComparedEffect extends EffectPlace {
  readonly type: string
  readonly state: string
  readonly is_open: number
  readonly settled_at: number | null
  readonly name: string | null
  readonly heardType: string | null
  readonly heardStream: string | null
  readonly heardState: string | null
  readonly heardEnd: number | null
}

function isSame({ heardType, heardStream, heardState, heardEnd, ...row }: ComparedEffect): boolean {
  if (heardState === null) return false
  const isOpen = !ended.includes(heardState)
  const isState = open.includes(heardState) ? open.includes(row.state) : row.state === heardState
  const isEnd = row.settled_at === heardEnd && row.is_open === (isOpen ? 1 : 0)
  return row.type === heardType && row.name === heardStream && isState && isEnd
}

const createTable = [
  `create temp table call_check (effect text primary key, position integer, n integer not null,
    type text not null, stream text not null, state text not null, settled_at integer) without rowid`,
  'create index temp.call_check_place on call_check (position, n)',
  "create index temp.call_check_unknown on call_check (stream, type, position, n) where state = 'unknown'",
]
const insertCall = `insert or replace into temp.call_check (effect, position, n, type, stream, state, settled_at)
  values (?, ?, ?, ?, ?, 'owed', null)`
const setState = 'update temp.call_check set state = ?, settled_at = ? where effect = ?'
const resolveNewest = `update temp.call_check set state = ?, settled_at = ? where effect = (
  select effect from temp.call_check where stream = ? and type = ? and state = 'unknown'
  order by settled_at desc limit 1)`
const selectPage = `select effect.position, effect.n, effect.type, effect.state, effect.is_open, effect.settled_at,
  stream.name, heard.type as "heardType", heard.stream as "heardStream", heard.state as "heardState",
  heard.settled_at as "heardEnd" from effect left join stream on stream.key = effect.stream
  left join temp.call_check as heard on heard.position = effect.position and heard.n = effect.n
  where (effect.position, effect.n) > (?, ?) order by effect.position, effect.n limit ?`
const selectLacking = `select heard.position, heard.n from temp.call_check as heard
  where (heard.position, heard.n) > (?, ?) and not exists (select 1 from effect
    where effect.position = heard.position and effect.n = heard.n)
  order by heard.position, heard.n limit ?`
