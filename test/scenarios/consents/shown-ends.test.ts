import { expect, test } from 'vitest'
import type { AverbaError } from '../../../src/index.ts'
import { isDetail, isList } from '../subscriptions/given-troubled.ts'
import { givenConsent } from './given-consent.ts'

/** Delays what comes until it is opened. */
function gate() {
  const [arrived, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const hold = () => {
    arrived.resolve()
    return opened.promise
  }
  return { arrived: arrived.promise, open: opened.resolve, hold }
}

test('an older list does not undo a revocation from a list when the detail is refused', async () => {
  const [older, newer, details] = [gate(), gate(), gate()]
  const lists: ReturnType<typeof gate>[] = []
  const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
    if (isDetail(request)) {
      await details.hold()
      return Response.json({ title: 'Proibido', status: 403 }, { status: 403 })
    }
    const response = await forward(request)
    if (isList(request)) await lists.shift()?.hold()
    return response
  })
  const { consents } = world.averba
  const { cpf } = world.samples
  const of = { subject, id: consent.id }
  lists.push(older, newer)
  world.consentService.change(cpf, consent.id, 'ATIVO')
  const first = consents.sync({ subject })
  await older.arrived
  await world.clock.advance(1_000)
  world.consentService.change(cpf, consent.id, 'REVOGADO')
  const second = consents.sync({ subject })
  await newer.arrived
  older.open()
  await details.arrived
  newer.open()
  await world.clock.advance(100)
  details.open()
  await Promise.all([first, second])
  await world.averba.settle()
  const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
  const refused: AverbaError = await consents.use(of, { basis }).catch(error => error)
  expect(refused.code).toBe('CONSENT_NOT_EFFECTIVE')
  expect((await consents.standing(of)).reason).toBe('revoked')
  expect(await consents.list({ subject, status: 'REVOGADO' })).toMatchObject([{ id: consent.id }])
  await world.close()
})
