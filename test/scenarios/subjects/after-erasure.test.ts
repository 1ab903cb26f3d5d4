import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replayLog, valueOf, verifyLog } from '../../../src/index.ts'
import { readConsent } from '../../support/given-consent.ts'
import { dayMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }

test('a log stays verifiable after an erasure that kept parts, late facts and a second erasure', async () => {
  const store = temporaryStore()
  const held = { left: Promise.withResolvers<void>(), let: Promise.withResolvers<void>() }
  const world = await openWorld({
    averba: { store },
    async intercept(request, forward) {
      const answer = await forward(request)
      if (request.method !== 'PUT') return answer
      held.left.resolve()
      await held.let.promise
      return answer
    },
  })
  const { averba, samples } = world
  const { subject, which } = await readConsent(world, 'PENDENTE')
  valueOf(await averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } }))
  const approving = averba.consents.approve(which)
  await held.left.promise
  const first = await averba.subjects.erase({ subject }, { ...asked, keep: ['validation.result'] })
  held.let.resolve()
  expect(await approving).toMatchObject({ status: 'unknown', next: 'person' })

  // The same person is enrolled again, and the log continues.
  const again = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject: again }))
  await world.clock.advance(60_000)
  const second = await averba.subjects.erase({ subject }, asked)
  expect(second.keeps).toEqual([])
  expect(first.keeps).toEqual(['validation.result'])
  await averba.subjects.erase({ subject: again }, asked)
  await passTime(world, 40 * dayMs)
  const last = await averba.consents.enrol({ cpf: samples.cpf })
  expect(new Set([subject, again, last]).size).toBe(3)

  const types = await Array.fromAsync(averba.log.read({ stream: `subject-${subject}` }), ({ type }) => type)
  expect(types.filter(type => type === 'subject.erased')).toHaveLength(2)
  const bundle = join(store, '..', 'bundle')
  await averba.audit.export(bundle)
  await world.close()
  const [whole, exported] = [await verifyLog({ store }), await verifyLog({ store: bundle })]
  expect([whole.faults, exported.faults]).toEqual([[], []])
  expect((await replayLog({ store })).divergence).toBeUndefined()
  expect(exported.erasedParts).toBeGreaterThan(6)
  expect(exported.erasedParts).toBe(whole.erasedParts)
})

test('a result is not reused once its subject was erased, however close together', async () => {
  const claims = { nome: 'X' }
  const seen = new Set<string>()
  for (let turns = 0; turns < 12; turns++) {
    const { averba, samples, clock, close } = await openWorld()
    const { cpf } = samples
    valueOf(await averba.validations.validate({ id: 'paid', cpf, claims }))
    const subject = await averba.consents.enrol({ cpf })
    const erasing = averba.subjects.erase({ subject }, asked)
    for (let turn = 0; turn < turns; turn++) await new Promise(resolve => setImmediate(resolve))
    const validating = averba.validations.validate({ id: 'again', cpf, claims, reuseWithinMs: 3_600_000 })
    await clock.finish(Promise.allSettled([erasing, validating]))
    const types: string[] = await Array.fromAsync(averba.log.read(), ({ type }) => type)
    const erased = types.indexOf('subject.erased')
    const [reused, paid] = ['validation.reused', 'validation.requested'].map(type => types.lastIndexOf(type))
    expect(erased).toBeGreaterThan(0)
    expect(reused).toBeLessThan(erased)
    seen.add(reused === -1 ? 'paid' : 'reused')
    // A new subject, known only after the erasure, pays for it.
    if (reused === -1) expect(paid).toBeGreaterThan(erased)
    await close()
  }
  expect(seen).toEqual(new Set(['reused', 'paid']))
})
