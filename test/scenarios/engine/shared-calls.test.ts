import { expect, test, vi } from 'vitest'
import { samples, VirtualClock } from '../../../src/simulation/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine } from '../../support/world.ts'

/** Two engines on one file. The first makes one call at a time; each answer comes when the test gives it. */
async function given() {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const sent: { by: string; answer: () => void }[] = []
  const open = (by: string, requestsAtOnceMax: number) =>
    openEngine({
      ...{ store, clock, schedules: false },
      fetch: () => {
        const { promise, resolve } = Promise.withResolvers<Response>()
        sent.push({ by, answer: () => resolve(Response.json({ nome: true })) })
        return promise
      },
      validationService: {
        ...{ baseUrl: 'https://validacao.exemplo.br', service: 'datavalid', bearer: 't' },
        requestsAtOnceMax,
      },
    })
  const [first, second] = [await open('first', 1), await open('second', 8)]
  const validate = (id: string) => first.validations.validate({ id, cpf: samples.cpf, claims: { nome: 'X' } })
  return { clock, first, second, sent, validate }
}

test('a caller waits for its call while another process performs it', async () => {
  const { clock, second, sent, validate } = await given()
  const blocking = validate('v1')
  await expect.poll(() => sent.length).toBe(1)
  const waiting = validate('v2')
  await expect.poll(async () => (await second.effects.list()).length).toBe(2)
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

test.each(['list', 'use'] as const)(
  'a %s of this moment waits for the reading that another process makes',
  async asked => {
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
    await clock.advance(60_000)
    isSlow = true
    const now = { ...which, ageMaxMs: 0 }
    const list = () => averba.consents.list({ subject: which.subject, ageMaxMs: 0 })
    const use = () => averba.consents.use(now, { basis: { purpose: 'entrega', legalBasis: 'LGPD 7 I' } })
    const another = (await averba.consents.list({ subject: which.subject })).find(({ id }) => id !== which.id)
    // It takes the only place of its process.
    const first = averba.consents.get({ ...now, id: another?.id ?? '' })
    await clock.quiet()
    const second = asked === 'list' ? list() : use()
    await clock.quiet()
    expect(held).toHaveLength(1)
    const settling = other.settle()
    await clock.advance(2_000)
    expect(held).toHaveLength(2)
    isSlow = false
    for (const answer of held) answer()
    await clock.finish(first)
    const found = await clock.finish<unknown>(second)
    const shown = expect.objectContaining({ id: which.id, status: 'ATIVO' })
    expect(found).toEqual(
      asked === 'list' ? expect.arrayContaining([shown]) : expect.objectContaining({ effective: true }),
    )
    await clock.finish(settling)
  },
)
