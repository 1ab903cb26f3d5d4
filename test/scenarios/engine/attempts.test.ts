import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { samples, type World } from '../../../src/simulation/index.ts'
import { answering, busy } from '../../support/answers.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent, readConsent } from '../../support/given-consent.ts'
import { validate } from '../../support/open-validating.ts'
import { passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

test('attempts that may change something or cost money are recorded before the request; readings are not', async () => {
  const known: (string | undefined)[][] = []
  const world: World = await openWorld({
    faults: [{ kind: 'status', status: 429, method: 'PUT', times: 1 }],
    intercept: async (request, forward) => {
      const attempts = await eventsOf(world, 'effect.attempted')
      known.push([request.method, ...attempts.map(({ data }) => `${data.type} ${data.attempts}`)])
      return forward(request)
    },
  })
  const { averba } = world
  const actor = { kind: 'person', ref: 'clerk-7' } as const
  const { which } = await readConsent(world, 'PENDENTE')
  await averba.consents.approve(which, { actor, correlationId: 'case-1' })
  await passTime(world, 60_000)
  valueOf(await validate(averba, 'v1'))
  const change = ['consentService.changeStatus 1', 'consentService.changeStatus 2']
  const paid = [...change, 'validationService.validatePerson 1', 'tokenService.requestToken 1']
  expect(known).toEqual([['GET'], ['PUT', change[0]], ['PUT', ...change], ['POST', ...paid], ['POST', ...paid]])
  const [first] = await eventsOf(world, 'effect.attempted')
  expect(first).toMatchObject({ actor, correlationId: 'case-1', moves: { to: 'started' } })
})

test('a retry is recorded with its time, reason and policy; nothing is recorded for a reading', async () => {
  const waits = [120]
  let isDown = false
  const isOne = ({ url }: Request) => isDown && url.includes('/consentimento/')
  const answers = answering(isOne, () => busy(waits.shift()))
  const { world, subject, which } = await givenConsent('PENDENTE', answers, { store: temporaryStore() })
  const { averba } = world
  isDown = true
  const { effect } = await averba.consents.approve(which, { correlationId: 'c' })
  await averba.consents.sync({ subject }, { waitMs: 0 })
  await passTime(world, 120_000)
  const deferred = await eventsOf(world, 'effect.deferred')
  const choice = { effect, type: 'consentService.changeStatus', policy: 'day-1' }
  const reason = 'the consent service answered 429'
  expect(deferred).toMatchObject([
    { data: { ...choice, reason, attempts: 1, wait: 'known', elapsedMs: 0 }, correlationId: 'c' },
    { data: { ...choice, reason, attempts: 2, wait: 'backoff', elapsedMs: 120_000 } },
  ])
  const [known, backoff] = deferred.map(({ at, data }) => Date.parse(data.dueAt) - Date.parse(at))
  expect(known).toBe(120_000)
  expect(backoff).toBeGreaterThan(0)
  expect(backoff).toBeLessThanOrEqual(4_000)
  const { dueAt } = deferred[1]?.data ?? {}
  expect(await averba.effects.get(effect)).toMatchObject({ state: 'deferred', dueAt, reason })
  expect(deferred[1]?.moves).toEqual({ effect, to: 'deferred' })
  expect((await averba.audit.verify()).faults).toEqual([])
})

test('an error thrown by the host’s fetch leaves none of its text in the log', async () => {
  const texts = [
    ['name', '25774435016'],
    ['name', `Erro_${samples.cpf}`],
    ['code', `https://consentimento.exemplo.br/v1/consentimentos/${samples.cpf}`],
    ['code', 'Bearer_de exemplo'],
  ] as const
  const thrown = new Set<Error>()
  let error = new Error()
  const { averba } = await openWorld({
    async intercept() {
      thrown.add(error)
      throw error
    },
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  for (const [member, text] of texts) {
    error = Object.assign(new Error(text), { [member]: text })
    expect(await averba.consents.sync({ subject })).toMatchObject({ status: 'deferred', reason: 'unknown' })
    expect(thrown).toContain(error)
  }
  const effects = JSON.stringify(await averba.effects.list())
  for (const [, text] of texts) expect(effects).not.toContain(text)
})
