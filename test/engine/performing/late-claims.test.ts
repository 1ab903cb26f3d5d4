import { expect, test } from 'vitest'
import { EffectClaimer, LocalBackoff } from '../../../src/engine/performing/effect-claimer.ts'
import { Decisions } from '../../../src/engine/recording/decisions.ts'
import { Recorder } from '../../../src/engine/recording/recorder.ts'
import { effectMachine } from '../../../src/machines/effect.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { effectStream } from '../../../src/vocabulary/names.ts'
import type { Performer } from '../../../src/vocabulary/performer.ts'
import { appendOf } from '../../store/append-of.ts'
import { openStore } from '../../support/store.ts'

test('a call whose lost attempt was deferred while another process waited for its turn is not claimed without an event', async () => {
  let now = systemClock.now()
  const clock = { ...systemClock, now: () => now }
  const store = await openStore({ clock })
  const ignore = () => undefined
  const waiting = { closing: new AbortController().signal, onTrouble: ignore }
  const recorder = new Recorder(store, clock, new Decisions(store, [effectMachine]), ignore, waiting)
  const lostFact = () => ({ type: 'validationService.lost', data: {} })
  const performer: Performer = {
    effectClass: 'once',
    perform: async () => ({ status: 'deferred', reason: '' }),
    lostFact,
  }
  const type = 'validationService.validatePerson'
  const claimer = new EffectClaimer(
    { store, clock, performers: { [type]: performer } },
    recorder,
    new LocalBackoff(clock),
  )
  await store.append(
    appendOf('bench-1', 'none', [{ effects: [{ type, data: {} }] }], { at: new Date(now).toISOString() }),
  )
  const [id, find] = ['bench-1/1/0', async () => (await claimer.findClaimable('bench-1/1/0')) ?? expect.fail()]

  await claimer.claim(await find())
  now += 61_000
  const found = await find()
  expect(found.wasStarted).toBe(true)
  const [dueAt, reason] = [new Date(now).toISOString(), 'HTTP 503']
  const message = { type: 'effect.defer', data: { effect: id, type, attempts: 1, reason, dueAt } }
  const moves = { effect: id, to: 'deferred', from: ['started'], attempts: 1, dueAt, reason } as const
  await recorder.record(async () => ({ targets: [{ stream: effectStream(found.pending), message }], moves }), {})
  expect(await claimer.claim(found)).toBeUndefined()
  expect(await claimer.claim(await find())).toMatchObject({ wasStarted: false })
  expect(await store.read({ types: ['effect.attempted'] })).toHaveLength(2)
  await store.close()
})
