import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ConsentChartState, heldOf } from '../../../src/machines/consent/chart.ts'
import { consentMachine } from '../../../src/machines/consent/consent.ts'
import { isEndShown } from '../../../src/machines/consent/standing.ts'
import type { ConsentStatus } from '../../../src/machines/consent/status.ts'
import { type ConsentRow, consents } from '../../../src/views/consents.ts'
import type { Message } from '../../../src/vocabulary/message.ts'
import { eventsOf } from '../explore.ts'
import { namedSamples } from '../samples.ts'

const reading = { createdAt: '2026-11-20T12:00:00.000Z', expiresAt: null, controller: null }
const statuses = ['PENDENTE', 'ATIVO', 'NEGADO', 'REVOGADO', 'EXPIRADO']
const times = ['2026-11-20T15:00:00.000Z', '2026-11-20T15:02:00.000Z']
/** Every message says when it was sent. */
const sampled = (namedSamples.find(({ name }) => name === 'consent')?.messages ?? []).map(message => ({
  ...message,
  data: { askedAt: times[0], ...Object(message.data) },
}))
/** A revocation between the two times, and what came after it. */
const history = (status: string) =>
  ['ATIVO', 'REVOGADO', status].map((each, n) => ({ status: each, since: `2026-11-20T15:01:0${n}.000Z` }))
/** What is asked for and shown, at one time or another. */
const timed: Message[] = times.flatMap(askedAt => [
  ...['approve', 'deny', 'revoke'].flatMap(verb =>
    [{ askedAt }, { askedAt, isUnsent: true }].map(data => ({ type: `consent.${verb}`, data })),
  ),
  ...statuses.flatMap(status => [
    { type: 'consent.observe', data: { ...reading, status, consent: 'c', subject: 's', askedAt } },
    { type: 'consentService.statusChanged', data: { ...reading, status, asked: 'REVOGADO', askedAt } },
    { type: 'consentService.consentRead', data: { ...reading, status, history: history(status), askedAt } },
  ]),
])

/** Only a change that is under way can be unsent, sent before, or withheld. */
function isPossible({ type, data }: Message, { value }: ConsentChartState): boolean {
  const { isUnsent, sentBefore } = Object(data)
  const isOfOpenChange = isUnsent === true || sentBefore === true || type === 'consent.withholdChange'
  return !isOfOpenChange || value.change === 'requested'
}

/** What the row says, by the chart: a list must not call known what nobody may use. */
function knownByChart(state: ConsentChartState): Partial<ConsentRow> {
  const { isVanished, isUncertain, change, asked, requests, reading: known, shown } = heldOf(state)
  if (state.value.data === 'erased') return { knowledge: 'erased' }
  const unchanged = isUncertain ? 'changed' : 'known'
  const open = { none: unchanged, requested: 'changing', lost: 'uncertain', contrary: 'uncertain' } as const
  const knowledge = isVanished ? 'vanished' : open[change]
  const said = { knowledge, asked, requests } as const
  if (knowledge === 'known') return { ...said, status: known.status }
  return { ...said, ...(knowledge === 'changed' && isEndShown(shown) && { status: shown as ConsentStatus }) }
}

test('the row of a consent says what its chart knows, whatever happens in which order', () => {
  let [checked, doubts] = [0, 0]
  const message = fc.constantFrom(...sampled, ...timed)
  fc.assert(
    fc.property(fc.array(message, { maxLength: 25 }), messages => {
      let state = consentMachine.initial
      let row: ConsentRow | undefined
      let version = 0
      for (const each of messages) {
        if (!isPossible(each, state as ConsentChartState)) continue
        for (const event of eventsOf(consentMachine, state, each)) {
          version += 1
          state = consentMachine.evolve(state, event)
          const place = { id: `c/${version}`, position: version, version, stream: 'consent-c', at: times[0] }
          const since = row?.end_wanted_at ?? null
          row = consents.fold(row, { ...event, ...place } as never) as ConsentRow | undefined // Recorded as the machine decided.
          if (row === undefined) continue
          expect(row).toMatchObject(knownByChart(state as ConsentChartState))
          const { data, end } = (state as ConsentChartState).value
          if (data !== 'erased') expect(row.end_wanted_at !== null).toBe(end === 'wanted')
          // Whoever asks again does not hide how long it has been wanted.
          if (since !== null && row.end_wanted_at !== null) expect(row.end_wanted_at).toBe(since)
          checked += 1
          if (row.doubt !== null) doubts += 1
        }
      }
    }),
    { numRuns: 2_000 },
  )
  expect(checked).toBeGreaterThan(1_000)
  expect(doubts).toBeGreaterThan(100)
})
