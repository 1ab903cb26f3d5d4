import type { Recorded } from '../message.ts'
import type { Faults } from '../proof/faults.ts'
import { rows, type Steps } from './connection.ts'
import { parseHeader } from './header.ts'

/** Where the events of the log say that a call stands. */
interface Replayed {
  readonly position: number
  readonly n: number
  readonly type: string
  readonly stream: string
  state: string
  settledAt: number | null
}

/** Where a call may stand in the ledger while no event says more than that it is owed. */
const open = ['owed', 'started', 'deferred']
const ended = ['settled', 'declined', 'cancelled']
const rowsMax = 1_000

/** Replays what the events say of the calls that are owed, and compares the ledger with it. */
export class LedgerCheck {
  readonly #calls = new Map<string, Replayed>()

  /** Hears of the next event, by its header. */
  hear(text: string): void {
    // Most events say nothing of calls: their text is not read a second time.
    if (!/"(cancels|effects|settles|moves|resolves)":/.test(text)) return
    const event: Recorded = parseHeader(text)
    const { settles, moves, resolves, cancels = [], position } = event
    if (settles) this.#put(settles.effect, settles.as, position)
    if (moves) this.#put(moves.effect, moves.to, null)
    for (const [n, { type }] of (event.effects ?? []).entries()) {
      const call = { position, n, type, stream: event.stream, state: 'owed', settledAt: null }
      this.#calls.set(`${event.stream}/${event.version}/${n}`, call)
    }
    for (const effect of cancels) this.#put(effect, 'cancelled', position)
    if (!resolves) return
    const isMeant = ({ stream, type, state }: Replayed) =>
      stream === event.stream && type === resolves.effect && state === 'unknown'
    const meant = [...this.#calls].filter(([, call]) => isMeant(call)).at(-1)
    if (meant) this.#put(meant[0], resolves.as, position)
  }

  #put(effect: string, state: string, settledAt: number | null): void {
    const call = this.#calls.get(effect)
    if (call) Object.assign(call, { state, settledAt })
  }

  /** Compares every row of the ledger with what was heard. */
  *compare(faults: Faults): Steps<void> {
    const left = new Map([...this.#calls.values()].map(call => [`${call.position}/${call.n}`, call]))
    let last = { position: 0, n: -1 }
    for (;;) {
      const page = yield* rows<Row>({ sql: selectPage, parameters: [last.position, last.n, rowsMax] })
      for (const row of page) {
        const place = `${row.position}/${row.n}`
        const call = left.get(place)
        left.delete(place)
        if (!call || !isSame(call, row))
          faults.add('effects', `the call ${place} stands elsewhere than the log says`)
      }
      const end = page.at(-1)
      if (!end) break
      last = end
    }
    for (const place of left.keys()) faults.add('effects', `the ledger lacks the call ${place}`)
  }
}

interface Row {
  readonly position: number
  readonly n: number
  readonly type: string
  readonly state: string
  readonly is_open: number
  readonly settled_at: number | null
  readonly name: string | null
}

function isSame({ type, stream, state, settledAt }: Replayed, row: Row): boolean {
  const isOpen = !ended.includes(state)
  const isState = open.includes(state) ? open.includes(row.state) : row.state === state
  const isEnd = row.settled_at === settledAt && row.is_open === (isOpen ? 1 : 0)
  return row.type === type && row.name === stream && isState && isEnd
}

const selectPage = `select effect.position, effect.n, effect.type, effect.state, effect.is_open, effect.settled_at,
  stream.name from effect left join stream on stream.key = effect.stream
  where (effect.position, effect.n) > (?, ?) order by effect.position, effect.n limit ?`
