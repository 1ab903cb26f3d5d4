import { expect, test, vi } from 'vitest'
import { samples, VirtualClock } from '../../../src/simulation/index.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

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
