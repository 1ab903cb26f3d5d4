import { expect, test } from 'vitest'
import { EffectClaimer, LocalBackoff } from '../../../src/engine/performing/effect-claimer.ts'
import { effectMachine } from '../../../src/machines/effect.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { effectStream } from '../../../src/vocabulary/names.ts'
import type { Performer } from '../../../src/vocabulary/performer.ts'
import { appendOf } from '../../store/append-of.ts'
import { openStore } from '../../support/store.ts'
import { recorderOn } from '../recorder-on.ts'

test('a call whose lost attempt was deferred while another process waited for its turn is not claimed without an event', async () => {
  let now = systemClock.now()
  const clock = { ...systemClock, now: () => now }
  const store = await openStore({ clock })
  const recorder = recorderOn(store, [effectMachine], clock)
  const performer: Performer = {
    effectClass: 'once',
    perform: async () => ({ status: 'deferred', reason: '' }),
    lostFact: () => ({ type: 'validationService.lost', data: {} }),
  }
  const type = 'validationService.validatePerson'
  const parts = { store, clock, performers: { [type]: performer } }
  const claimer = new EffectClaimer(parts, recorder, new LocalBackoff(clock))
  const effects = [{ type, data: {} }]
  await store.append(appendOf('bench-1', 'none', [{ effects }], { at: new Date(now).toISOString() }))
  const effect = 'bench-1/1/0'
  const find = async () => (await claimer.findClaimable(effect)) ?? expect.fail()

  await claimer.claim(await find())
  now += 61_000
  const found = await find()
  expect(found.wasStarted).toBe(true)
  const outcome = { effect, attempts: 1, dueAt: new Date(now).toISOString(), reason: 'HTTP 503' }
  const message = { type: 'effect.defer', data: { ...outcome, type } }
  const moves = { ...outcome, to: 'deferred', from: ['started'] } as const
  await recorder.record(async () => ({ targets: [{ stream: effectStream(found.pending), message }], moves }), {})
  expect(await claimer.claim(found)).toBeUndefined()
  expect(await claimer.claim(await find())).toMatchObject({ wasStarted: false })
  expect(await store.read({ types: ['effect.attempted'] })).toHaveLength(2)
})
