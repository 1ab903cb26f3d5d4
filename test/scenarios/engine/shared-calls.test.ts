import { expect, test, vi } from 'vitest'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { openValidating, validate } from '../../support/open-validating.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine, validationServiceWith } from '../../support/world.ts'

test('a caller waits for its call while another process performs it', async () => {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const sent: { by: string; answer: () => void }[] = []
  /** An engine, whose answers come when the test gives them. */
  const open = (by: string, requestsAtOnceMax: number) =>
    openValidating({
      ...{ store, clock, validationService: validationServiceWith({ bearer: 't', requestsAtOnceMax }) },
      fetch: () => new Promise(resolve => sent.push({ by, answer: () => resolve(Response.json({ nome: true })) })),
    })
  const [first, second] = [await open('first', 1), await open('second', 8)]
  const blocking = validate(first, 'v1')
  await expect.poll(() => sent.length).toBe(1)
  const waiting = validate(first, 'v2')
  await expect.poll(() => second.effects.list()).toHaveLength(2)
  const settling = second.settle()
  await expect.poll(() => sent.map(({ by }) => by)).toEqual(['first', 'second'])
  sent[0]?.answer()
  expect(await blocking).toMatchObject({ status: 'settled' })
  let isOver = false
  const ended = waiting.finally(() => {
    isOver = true
  })
  const sleep = vi.spyOn(clock, 'sleep')
  await clock.advance(20_000)
  expect(isOver).toBe(false)
  // Soon at first, and then ever less often: many callers may wait.
  const looks = sleep.mock.calls.filter(([, , what]) => what === 'a call of another process')
  expect(looks.length).toBeGreaterThan(20)
  expect(looks.length).toBeLessThan(40)
  sent[1]?.answer()
  expect(await clock.finish(ended)).toMatchObject({ status: 'settled', value: { state: 'answered' } })
  await settling
  expect(sent).toHaveLength(2)
})

test('a list or a use of this moment waits for the reading that another process makes', async () => {
  const held: (() => void)[] = []
  let isSlow = false
  const later = async (answering: Promise<Response>) => {
    const answer = await answering
    if (isSlow) await new Promise<void>(resolve => held.push(resolve))
    return answer
  }
  const [store, consentService] = [temporaryStore(), consentServiceWith({ requestsAtOnceMax: 1 })]
  const options = { averba: { store, consentService } }
  const { world, which } = await givenConsent('ATIVO', (request, forward) => later(forward(request)), options)
  const { averba, clock } = world
  const fetch = (request: Request) => later(world.consentService.fetch(request, { clientName: 'gestora' }))
  const other = await openEngine({ store, clock, fetch, consentService: consentServiceWith({}) })
  const { subject } = which
  const another = (await averba.consents.list({ subject })).find(({ id }) => id !== which.id)
  const shown = expect.objectContaining({ id: which.id, status: 'ATIVO' })
  const basis = { purpose: 'entrega', legalBasis: 'LGPD 7 I' }
  const asked: [() => Promise<unknown>, unknown][] = [
    [() => averba.consents.list({ subject, ageMaxMs: 0 }), expect.arrayContaining([shown])],
    [() => averba.consents.use({ ...which, ageMaxMs: 0 }, { basis }), expect.objectContaining({ effective: true })],
  ]
  for (const [ask, expected] of asked) {
    await clock.advance(60_000)
    isSlow = true
    // It takes the only place of its process.
    const first = averba.consents.get({ subject, id: another?.id ?? '', ageMaxMs: 0 })
    await clock.quiet()
    const second = ask()
    await clock.quiet()
    expect(held).toHaveLength(1)
    const settling = other.settle()
    await clock.advance(2_000)
    expect(held).toHaveLength(2)
    isSlow = false
    for (const answer of held.splice(0)) answer()
    await clock.finish(first)
    expect(await clock.finish(second)).toEqual(expected)
    await clock.finish(settling)
  }
})
