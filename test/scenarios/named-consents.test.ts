import { expect, test } from 'vitest'
import { valueOf } from '../../src/index.ts'
import { samples, simulate, type World } from '../../src/simulation/index.ts'

const { cpf } = samples
const otherCpf = '52998224725'
const claims = { nome: 'Maria de Exemplo Souza' }
const hourMs = 3_600_000

const validationService = {
  baseUrl: 'https://validacao.exemplo.br',
  service: 'datavalid-demonstracao',
  paidPerDayMax: 1,
}

/** A basis that names a consent which stands. */
async function givenBasis({ averba: { consents } }: World) {
  const subject = await consents.enrol({ cpf })
  valueOf(await consents.sync({ subject }))
  const [active] = await consents.list({ subject, status: 'ATIVO' })
  const consent = { cpf, id: active?.id ?? '' }
  return { consent, basis: { purpose: 'opening an account', legalBasis: 'LGPD 7 I', consent } }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

test('a validation rests on a consent that stands at that moment, or no request leaves', async () => {
  const world = await simulate()
  const { consents, validations, log } = world.averba
  const { consent, basis } = await givenBasis(world)
  const ask = (id: string, of: string = cpf) => validations.validate({ id, cpf: of, claims }, { basis })
  valueOf(await ask('a'))
  expect(await ask('a')).toMatchObject({ status: 'settled', replayed: true })
  const used = await all(log.read({ types: ['consent.used'] }))
  expect(used).toMatchObject([{ correlationId: 'a', basis: { purpose: 'opening an account' } }])
  const [requested] = await all(log.read({ types: ['validation.requested'] }))
  expect(requested).toMatchObject({ correlationId: 'a' })
  expect(requested?.basis).toEqual({ purpose: 'opening an account', legalBasis: 'LGPD 7 I' })
  await expect(ask('b', otherCpf)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  valueOf(await consents.revoke(consent))
  const refused = { code: 'CONSENT_NOT_EFFECTIVE', standing: { because: 'revoked' } }
  await expect(ask('c')).rejects.toMatchObject(refused)
  expect(await validations.get('c')).toBeUndefined()
  expect(await ask('a')).toMatchObject({ status: 'settled', replayed: true })
  expect(world.validationService.answered).toBe(1)
  await world.close()
})

test('a consent is used once for a validation, however many ask for it, and stands when it is paid', async () => {
  const world = await simulate({ averba: { validationService } })
  const { consents, validations, log } = world.averba
  const { consent, basis } = await givenBasis(world)
  const ask = (id: string) => validations.validate({ id, cpf, claims }, { basis })
  const uses = async (type: 'consent.used' | 'consent.useRefused') =>
    (await all(log.read({ types: [type] }))).map(event => event.correlationId)
  for (const outcome of await Promise.all([ask('a'), ask('a'), ask('a')])) valueOf(outcome)
  expect(await uses('consent.used')).toEqual(['a'])
  const spent = { code: 'BUDGET_SPENT' }
  for (const wrong of [
    { legalBasis: undefined as never },
    { consent: { ...consent, ageMaxMs: Number.NaN } },
  ]) {
    const given = { basis: { ...basis, ...wrong } }
    const input = { id: 'wrong', cpf, claims }
    await expect(validations.validate(input, given)).rejects.toMatchObject({ code: 'INVALID_INPUT' })
  }
  for (let times = 0; times < 2; times++) await expect(ask('b')).rejects.toMatchObject(spent)
  expect(await uses('consent.used')).toEqual(['a', 'b'])
  valueOf(await consents.revoke(consent))
  await world.clock.advance(24 * hourMs)
  const refused = { code: 'CONSENT_NOT_EFFECTIVE' }
  for (let times = 0; times < 2; times++) await expect(ask('b')).rejects.toMatchObject(refused)
  expect(await uses('consent.useRefused')).toEqual(['b', 'b'])
  expect(world.validationService.answered).toBe(1)
  await world.close()
})

test('the command id that a use is given holds no digits, which could be a CPF by chance', async () => {
  const world = await simulate()
  const { averba } = world
  const { basis } = await givenBasis(world)
  valueOf(await averba.validations.validate({ id: 'a', cpf, claims }, { basis }))
  const [used] = await all(averba.log.read({ types: ['consent.used'] }))
  expect(used?.commandId).toMatch(/^use-[a-z]{64}$/)
  await world.close()
})
