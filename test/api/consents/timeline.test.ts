import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ConsentRecorded, replayTimeline } from '../../../src/api/consents/timeline.ts'
import { consentMachine } from '../../../src/machines/consent/consent.ts'
import { type ConsentStatus, consentStatuses } from '../../../src/machines/consent/status.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import type { Instant, Message } from '../../../src/vocabulary/message.ts'

/** An instant of a short timeline, in which steps often coincide. */
const at = (minute: number) => toInstant(minute * 60_000)
const end = 20

/** What happens to one consent in a minute: at the service, and in our requests and readings. */
const change = fc.record({ does: fc.constant('change'), status: fc.constantFrom(...consentStatuses) })
const reading = fc.record({ does: fc.constantFrom('list', 'read') })
const other = fc.record({ does: fc.constantFrom('decline', 'vanish', 'use', 'trim') })
const ask = fc.record({
  does: fc.constant('ask'),
  verb: fc.constantFrom('approve', 'deny', 'revoke'),
  answer: fc.constantFrom('done', 'lost', 'lostUndone', 'late'),
})
const expire = fc.record({ does: fc.constant('expire'), minute: fc.integer({ min: 5, max: 25 }) })
const step = fc.oneof(
  { weight: 4, arbitrary: change },
  { weight: 4, arbitrary: reading },
  { weight: 1, arbitrary: other },
  { weight: 3, arbitrary: ask },
  { weight: 1, arbitrary: expire },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

interface Entry {
  readonly status: ConsentStatus
  readonly minute: number
}

/** What a reading showed: status, expiry, and after a detail also the history. */
interface Shown {
  readonly minute: number
  readonly status: ConsentStatus
  readonly expires: number
  readonly history?: readonly Entry[]
}

const targets = { approve: 'ATIVO', deny: 'NEGADO', revoke: 'REVOGADO' } as const

/** The events that the machine decides for messages, as in the log. */
function createStream() {
  const events: ConsentRecorded[] = []
  let state = consentMachine.initial
  /** Returns whether the machine took the message. */
  const decide = (at: Instant, message: Message): boolean => {
    const decision = consentMachine.decide(state, message)
    if ('refused' in decision) return false
    for (const event of decision.events) {
      state = consentMachine.evolve(state, event)
      const position = events.length + 1
      events.push({ ...event, at, position, version: position } as ConsentRecorded)
    }
    return true
  }
  return { events, decide }
}

/** Plays the steps, one a minute, and keeps what the service showed next to the events of the machine. */
function play(first: ConsentStatus, skew: number, steps: readonly Step[]) {
  let expires = 16
  const history: Entry[] = [{ status: first, minute: skew }]
  const shown: Shown[] = []
  const doubts: { from: number; until: number }[] = []
  const { events, decide } = createStream()
  const status = () => (history.at(-1) as Entry).status
  const tellMachine = (minute: number, type: string, data: object = {}) => decide(at(minute), { type, data } as Message)
  const reading = () => ({ status: status(), createdAt: at(0), expiresAt: at(expires), controller: null })
  const show = (minute: number, isFull: boolean) => {
    shown.push({ minute, status: status(), expires, ...(isFull && { history: [...history] }) })
  }
  const list = (minute: number) => {
    show(minute, false)
    tellMachine(minute, 'consent.observe', { ...reading(), consent: 'c', subject: 's' })
  }
  list(0)
  for (const [i, each] of steps.entries()) {
    const minute = i + 1
    if (each.does === 'change') history.push({ status: each.status, minute: minute + skew })
    // The service reopens the consent and drops the end from its history.
    const active = history.findLastIndex(entry => entry.status === 'ATIVO')
    if (each.does === 'trim' && active >= 0) history.splice(active + 1)
    if (each.does === 'expire') expires = each.minute
    if (each.does === 'list') list(minute)
    if (each.does === 'vanish') tellMachine(minute, 'consent.miss', {})
    if (each.does === 'decline') tellMachine(minute, 'consentService.readDeclined', { httpStatus: 403 })
    if (each.does === 'read') {
      show(minute, true)
      const told = history.map(entry => ({ status: entry.status, since: at(entry.minute) }))
      tellMachine(minute, 'consentService.consentRead', { ...reading(), history: told })
    }
    if (each.does === 'use') tellMachine(minute, 'consent.use', { at: at(minute), ageMaxMs: null, readAt: at(0) })
    if (each.does === 'ask' && tellMachine(minute, `consent.${each.verb}`)) {
      if (each.answer !== 'lostUndone') history.push({ status: targets[each.verb], minute: minute + skew })
      if (each.answer === 'done') {
        show(minute, false)
        tellMachine(minute, 'consentService.statusChanged', reading())
      } else {
        if (each.answer !== 'late') tellMachine(minute, 'consentService.changeLost', {})
        // The next reading of any kind ends it.
        const next = steps.findIndex((later, j) => j > i && (later.does === 'list' || later.does === 'read'))
        if (each.verb === 'revoke') doubts.push({ from: minute, until: next < 0 ? end : next + 1 })
      }
    }
  }
  return { events, shown, doubts }
}

const lives = fc.tuple(
  fc.constantFrom<ConsentStatus>('PENDENTE', 'ATIVO'),
  fc.constantFrom(-2, 0, 0, 0, 2),
  fc.array(step, { maxLength: end - 2 }),
)

/** Asks about every minute, at every minute of knowledge, and returns what is wrong with the answers. */
function faultsOf(
  life: ReturnType<typeof play>,
  check: (minute: number, known: number, reason: string) => string | undefined,
): string[] {
  const faults: string[] = []
  for (let known = 0; known <= end; known += 1) {
    const evaluate = replayTimeline(life.events.filter(event => event.at <= at(known)))
    for (let minute = 0; minute <= end; minute += 1) {
      const asked = { at: at(minute), knownAt: at(known), ageMaxMs: null, syncedAt: null }
      const fault = check(minute, known, evaluate(asked).reason)
      if (fault) faults.push(`minute ${minute}, known at ${known}: ${fault}`)
    }
  }
  return faults
}

test('a consent is never effective at an instant when its known history says that it is not', () => {
  let effective = 0
  fc.assert(
    fc.property(lives, ([first, skew, steps]) => {
      const life = play(first, skew, steps)
      const faults = faultsOf(life, (minute, known, reason) => {
        if (reason !== 'active') return undefined
        effective += 1
        const readings = life.shown.filter(each => each.minute <= known)
        if (minute >= (readings.at(-1)?.expires ?? 0)) return 'expired'
        for (const { minute: readAt, history } of readings)
          if (history && minute <= readAt && history.findLast(entry => entry.minute <= minute)?.status !== 'ATIVO')
            return 'not by its history'
        const before = readings.findLast(each => each.minute <= minute)
        if (before && minute >= before.expires) return 'expired by the last reading'
        const entries = readings.flatMap(({ history = [] }) => history).filter(({ status }) => status === 'ATIVO')
        const isBegunAnew = entries.some(entry => entry.minute >= (before?.minute ?? 0) && entry.minute <= minute)
        const hadEnded = before && before.status !== 'ATIVO' && before.status !== 'PENDENTE'
        if (hadEnded && !isBegunAnew) return 'it had ended'
        const isToldLater = readings.some(each => each.history && each.minute >= minute)
        if (!isToldLater && before?.status !== 'ATIVO') return 'not by the last reading'
        const isDoubted = life.doubts.some(({ from, until }) => from <= minute && from <= known && known < until)
        return isDoubted ? 'in doubt' : undefined
      })
      expect(faults).toEqual([])
    }),
    { seed: 5, numRuns: 150 },
  )
  expect(effective).toBeGreaterThan(500)
})

describe('a reading in full that may come from an older copy', () => {
  const second = (n: number) => toInstant(n * 1_000)
  const reading = { createdAt: null, expiresAt: second(9_000), controller: null }

  /** Asks about the events of readings, each at its second, with the seconds of its history entries. */
  type History = readonly (readonly [ConsentStatus, number])[]
  function readings(...all: readonly [number, ConsentStatus, History?][]) {
    const { events, decide } = createStream()
    for (const [n, status, entries] of all) {
      const data = { ...reading, status, askedAt: second(n), consent: 'c', subject: 's' }
      const history = entries?.map(([of, since]) => ({ status: of, since: second(since) }))
      const type = history ? 'consentService.consentRead' : 'consent.observe'
      expect(decide(second(n), { type, data: { ...data, ...(history && { history }) } })).toBe(true)
    }
    const evaluate = replayTimeline(events)
    return (n: number) => evaluate({ at: second(n), knownAt: second(8_000), ageMaxMs: null, syncedAt: null }).reason
  }

  const begun: History = [...[['PENDENTE', 0] as const], ['ATIVO', 1]]

  test('keeps the end of the past that the newer reading showed', () => {
    const at = readings([10, 'ATIVO'], [11, 'ATIVO', [...begun, ['REVOGADO', 2]]], [20, 'ATIVO', begun])
    expect(at(15)).toBe('revoked')
  })

  test('shows an end that no other reading shows', () => {
    const after = [...begun, ['REVOGADO', 900], ['ATIVO', 1_010]] as const
    const at = readings([10, 'ATIVO'], [11, 'ATIVO', begun], [1_000, 'REVOGADO'], [1_020, 'ATIVO', after])
    expect(at(905)).toBe('revoked')
  })
})
