import { AssertionError } from 'node:assert/strict'
import { describe, expect, test, vi } from 'vitest'
import { samples, scenario, type World } from '../../../src/simulation/index.ts'
import { readConsent } from '../../support/given-consent.ts'
import { dayMs } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'

const validation = { id: 'pedido', cpf: samples.cpf, claims: { sexo: 'F' } } as const
const validate = ({ averba }: World) => averba.validations.validate(validation)

const readPending = async (world: World) => (await readConsent(world, 'PENDENTE')).which

test('a scenario runs given and when, and compares the result', async () => {
  const { result, events, crashes } = await scenario({
    given: readPending,
    when: ({ averba }, which) => averba.consents.approve(which),
    expected: {
      result: { status: 'settled', value: { status: 'ATIVO' } },
      events: [{ type: 'consent.changeRequested' }, { type: 'consent.approved', data: { by: 'us' } }],
      without: ['consent.conflicted'],
      always: async ({ averba }, { subject }) => {
        expect(await averba.consents.list({ subject, status: 'ATIVO' })).toHaveLength(3)
      },
    },
  })
  expect(result?.status).toBe('settled')
  expect(events.map(event => event.type)).toEqual(['consent.changeRequested', 'effect.attempted', 'consent.approved'])
  expect(crashes).toBe(0)
})

test('time passes until when has ended, and pending effects run afterwards', async () => {
  await scenario({
    world: { faults: [{ kind: 'refuse', service: 'validationService', times: 9 }] },
    given: ({ clock }) => clock.now(),
    when: async world => (await validate(world)).status,
    expected: {
      result: 'deferred',
      events: [{ type: 'validation.answered' }],
      always: async ({ averba, clock }, startedAt) => {
        expect(await averba.validations.get('pedido')).toMatchObject({ state: 'answered' })
        expect(clock.now() - startedAt).toBeLessThan(2 * dayMs)
      },
    },
  })
  const world = { faults: [{ kind: 'delay', ms: 5_000, service: 'validationService', times: 1 }] } as const
  await scenario({ world, when: validate, expected: { result: { status: 'settled' } } })
})

test('an error is compared with the expected one, and rethrown without one', async () => {
  const when = ({ averba }: World) => averba.consents.approve({ cpf: samples.cpf, id: '1' })
  await scenario({ when, expected: { error: { code: 'NOT_FOUND' } } })
  await expect(scenario({ when })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(scenario({ when, expected: { error: { code: 'REFUSED' } } })).rejects.toThrow(AssertionError)
  await expect(scenario({ when: validate, expected: { error: {} } })).rejects.toThrow(AssertionError)
})

const [answered, declined] = [{ type: 'validation.answered' }, { type: 'validation.declined' }] as const
test.each([
  ['the result', { result: { status: 'declined' } }, /the result: [\s\S]*status: 'settled'[\s\S]*status: 'declined'/],
  ['a missing event', { events: [declined] }, /event 1 of 1, but it was not recorded[\s\S]*validation\.declined/],
  ['the order of events', { events: [answered, { type: 'token.renewed' }] }, /event 2 of 2, .* or not in this order/],
  ['an unwanted event', { without: ['token.renewed'] }, /the unwanted events/],
  ['effects that wait for a person', { stuck: 1 }, /the number of effects that wait for a person/],
] as const)('a failed expectation of %s throws with the seed and the recorded events', async (_, expected, message) => {
  const played = scenario({ world: { seed: 4711 }, when: validate, expected })
  await expect(played).rejects.toThrow(message)
  await expect(played).rejects.toThrow(/seed 4711\n[\s\S]*validation\.requested [\s\S]*token\.requested/)
  await expect(played).rejects.toThrow(AssertionError)
  // `node:test` shows the stack.
  await expect(played).rejects.toMatchObject({ stack: expect.stringContaining('seed 4711\n') })
})

describe('handlers that fail', () => {
  const evento = 'dimp-situacao-import'
  const notice = { evento, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body: { n: 1 } } as const
  const world = { averba: { subscriptions: [{ evento, chaveSecreta: 'k'.repeat(32) }] } }
  const given = ({ averba }: World) => applyPlan(averba)
  const fail = () => {
    throw new RangeError('the ERP is closed')
  }
  const notifyAndSettle = async ({ averba, portal }: World) => {
    await portal.notify(notice)
    await averba.settle()
  }
  /** A handler that fails the first `times` calls. */
  const failing = (times: number) => {
    const calls: number[] = []
    const when = ({ averba, portal, clock }: World) => {
      averba.notifications.handle(evento, 'erp', async () => {
        calls.push(clock.now())
        if (calls.length <= times) fail()
      })
      return portal.notify(notice)
    }
    return { calls, when }
  }

  test('every time are parked and counted', async () => {
    await scenario({ world, given, when: failing(99).when, expected: { parked: 1 } })
    const played = scenario({ world, given, when: failing(99).when })
    await expect(played).rejects.toThrow(AssertionError)
    await expect(played).rejects.toThrow(
      /^Expected 0 handlers to be parked at the end, not 1\n {2}the handler "erp" of "dimp-situacao-import" at the notification \S+: failed 12 times, parked: RangeError\n/,
    )
    const mended = scenario({ world, given, when: failing(0).when, expected: { parked: 1 } })
    await expect(mended).rejects.toThrow('Expected 1 handlers to be parked at the end, not 0')
  })

  test('and are not registered again after a crash fail the scenario', async () => {
    const handler = vi.fn(async () => fail())
    const played = scenario({
      world,
      given: async of => {
        await given(of)
        // Only in this process: the next one does not register it.
        of.averba.notifications.handle(evento, 'erp', handler)
      },
      when: notifyAndSettle,
      survivesCrashes: true,
      expected: { parked: 1 },
    })
    await expect(played).rejects.toThrow(
      /the handlers that failed and were not called again[\s\S]*the handler "erp" .* failed 1 times, next call at /,
    )
    // Twelve times in the run without a crash, and once more before the crash.
    expect(handler.mock.calls.length).toBeGreaterThan(12)
  })

  test('as log followers are retried and named too', async () => {
    let calls = 0
    const when = async ({ averba }: World, isMended: (call: number) => boolean) => {
      averba.log.follow('crm', ['subject.enrolled'], async () => {
        calls += 1
        if (!isMended(calls)) fail()
      })
      await averba.consents.enrol({ cpf: samples.cpf })
    }
    await scenario({ given: () => (call: number) => call > 2, when })
    expect(calls).toBe(3)
    const parked = /not 1\n {2}the follower "crm" after position \d+: failed 8 times, parked: RangeError/
    await expect(scenario({ given: () => () => false, when })).rejects.toThrow(parked)
  })
})

test('a scenario that survives crashes names the crash point at which it fails', async () => {
  const played = scenario({
    given: readPending,
    when: ({ averba }, which) => averba.consents.approve(which, { commandId: 'a' }),
    survivesCrashes: true,
    expected: {
      always: async ({ averba }, { subject }) => {
        const types = await Array.fromAsync(averba.log.read(), event => event.type)
        expect(types).not.toContain('consent.changeLost')
        expect(await averba.consents.list({ subject, status: 'ATIVO' })).toHaveLength(3)
      },
    },
  })
  await expect(played).rejects.toThrow(/consent\.changeLost[\s\S]*in the world of seed 1, with a crash at point \d+/)
})

test('an error of the host after a crash is rethrown', async () => {
  const forgetful = scenario({
    given: () => ({ runs: 0 }),
    async when(world, memory) {
      memory.runs += 1
      if (memory.runs > 1) throw new RangeError('what was in memory is gone')
      return validate(world)
    },
    survivesCrashes: true,
    expected: { result: { status: 'settled' } },
  })
  await expect(forgetful).rejects.toThrow('what was in memory is gone')
})
