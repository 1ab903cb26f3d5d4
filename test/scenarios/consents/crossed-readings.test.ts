import { describe, expect, test } from 'vitest'
import type { Standing } from '../../../src/api/consents/consent-events.ts'
import { type AverbaError, type Consents, valueOf } from '../../../src/index.ts'
import { isDetail } from '../subscriptions/given-troubled.ts'
import { givenConsent } from './given-consent.ts'

type World = Awaited<ReturnType<typeof givenConsent>>['world']
type Intercept = NonNullable<Parameters<typeof givenConsent>[1]>

interface Listed {
  readonly id: string
}

const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
const isList = ({ method, url }: Request) => method === 'GET' && /consentimentos\/\d+$/.test(url)

/** Uses the consent and returns the reason of the answer: `active` if the use is allowed. */
async function useOf({ averba }: World, which: Parameters<Consents['use']>[0]): Promise<Standing['reason']> {
  try {
    return (await averba.consents.use(which, { basis })).reason
  } catch (error) {
    return (error as AverbaError & { standing: Standing }).standing.reason // `use` throws only this here.
  }
}

/** Delays one request until it is opened. */
function gate() {
  const [arrived, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const hold = () => {
    arrived.resolve()
    return opened.promise
  }
  return { arrived: arrived.promise, open: opened.resolve, hold }
}

/** A world in which one request of a kind is delayed, on its way there or back. */
async function given(
  status: 'PENDENTE' | 'ATIVO',
  isHeld: (request: Request) => boolean,
  way: 'there' | 'back' = 'there',
) {
  const held = gate()
  let isOn = false
  let isDown = (_: Request) => false
  const { world, subject, consent } = await givenConsent(status, async (request, forward) => {
    if (isDown(request)) throw new Error('reset')
    if (!isOn || !isHeld(request)) return forward(request)
    isOn = false
    if (way === 'there') await held.hold()
    const response = await forward(request)
    if (way === 'back') await held.hold()
    return response
  })
  const turnOn = () => {
    isOn = true
  }
  const { cpf } = world.samples
  const change = (to: 'REVOGADO') => world.consentService.change(cpf, consent.id, to)
  const takeDown = (isOf: (request: Request) => boolean) => {
    isDown = isOf
  }
  return { world, subject, which: { subject, id: consent.id }, held, turnOn, change, takeDown }
}

describe('a reading that overlaps a newer one is read again instead of being believed', () => {
  test('two readings in full, of which the older one shows the revocation', async () => {
    const { world, which, held, turnOn, change } = await given('ATIVO', isDetail)
    turnOn()
    const slow = world.averba.consents.get({ ...which, ageMaxMs: 0 })
    await held.arrived
    await world.averba.consents.get({ ...which, ageMaxMs: 0 })
    await world.clock.advance(1_000)
    change('REVOGADO')
    held.open()
    await slow
    expect(await useOf(world, which)).not.toBe('active')
    await world.averba.settle()
    expect(await useOf(world, { ...which, ageMaxMs: 300_000 })).toBe('revoked')
    await world.close()
  })

  test('a list with the revocation, and a reading in full from before it that ended sooner', async () => {
    const { world, subject, which, held, turnOn, change } = await given('ATIVO', isList)
    turnOn()
    const syncing = world.averba.consents.sync({ subject })
    await held.arrived
    await world.averba.consents.get({ ...which, ageMaxMs: 0 })
    change('REVOGADO')
    held.open()
    await syncing
    expect(await useOf(world, { ...which, ageMaxMs: 300_000 })).toBe('revoked')
    await world.close()
  })

  test('a list from before our revocation does not make the consent effective or look effective', async () => {
    const { world, subject, which, held, turnOn, takeDown } = await given('ATIVO', isList, 'back')
    turnOn()
    const syncing = world.averba.consents.sync({ subject })
    await held.arrived
    valueOf(await world.averba.consents.revoke(which))
    takeDown(isDetail)
    held.open()
    await syncing
    expect(await useOf(world, which)).toBe('revoked')
    const shown = (await world.averba.consents.list({ subject })).find(each => each.id === which.id)
    expect(shown).toMatchObject({ status: 'REVOGADO', knowledge: 'changed' })
    await world.close()
  })
})

describe('a list that overlaps a newer reading still counts for what it shows beside the status', () => {
  /** A list requested after the service has changed, and answered after a reading in full from before the change. */
  async function crossedList(change: (listed: Listed[], id: string) => Listed[], detail: (shown: Listed) => Response) {
    const [read, listed] = [gate(), gate()]
    let isOn = false
    let hasChanged = false
    let id = ''
    const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
      const isNew = hasChanged
      const answer = await forward(request)
      if (isList(request)) {
        if (isOn) await listed.hold()
        return isNew ? Response.json(change((await answer.json()) as Listed[], id)) : answer // The service sends a list.
      }
      if (!isDetail(request)) return answer
      if (isOn) await read.hold()
      return isNew ? detail((await answer.json()) as Listed) : answer
    })
    id = consent.id
    const which = { subject, id }
    isOn = true
    const reading = world.averba.consents.get({ ...which, ageMaxMs: 0 })
    await read.arrived
    await world.clock.advance(2_000)
    hasChanged = true
    const syncing = world.averba.consents.sync({ subject })
    await listed.arrived
    read.open()
    await reading
    isOn = false
    listed.open()
    await syncing
    await world.clock.advance(120_000)
    await world.averba.settle()
    return { world, which: { ...which, ageMaxMs: 600_000 } }
  }

  test('an earlier expiry', async () => {
    const dataExpiracao = '2026-11-20T12:00:30.000Z'
    const amended = (shown: Listed) => ({ ...shown, dataExpiracao })
    const { world, which } = await crossedList(
      (listed, id) => listed.map(each => (each.id === id ? amended(each) : each)),
      shown => Response.json(amended(shown)),
    )
    expect(await useOf(world, which)).toBe('expired')
    await world.close()
  })

  test('a missing consent', async () => {
    const { world, which } = await crossedList(
      (listed, id) => listed.filter(each => each.id !== id),
      () => Response.json({ title: 'nada' }, { status: 404 }),
    )
    expect(await useOf(world, which)).toBe('uncertain')
    valueOf(await world.averba.consents.sync({ subject: which.subject }))
    expect(await useOf(world, which)).toBe('vanished')
    await world.close()
  })
})

describe('an answer that comes after a reading', () => {
  const isPut = ({ method }: Request) => method === 'PUT'

  test('does not make a revoked consent effective again', async () => {
    const { world, subject, which, held, turnOn, change } = await given('PENDENTE', isPut, 'back')
    turnOn()
    const approving = world.averba.consents.approve(which)
    await held.arrived
    valueOf(await world.averba.consents.sync({ subject }))
    await world.clock.advance(1_000)
    change('REVOGADO')
    valueOf(await world.averba.consents.sync({ subject }))
    held.open()
    expect((await approving).status).toBe('settled')
    expect(await useOf(world, which)).toBe('revoked')
    await world.averba.settle()
    expect(await useOf(world, { ...which, ageMaxMs: 60_000 })).toBe('revoked')
    await world.close()
  })

  test.each(['answered', 'lost'])('does not end the doubt about a revocation requested since: %s', async how => {
    const [first, second] = [gate(), gate()]
    const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
      if (!isPut(request)) return forward(request)
      if (request.url.endsWith('REVOGADO')) {
        await second.hold()
        return forward(request)
      }
      const response = await forward(request)
      await first.hold()
      if (how === 'lost') throw new Error('reset')
      return response
    })
    const which = { subject, id: consent.id }
    const approving = world.averba.consents.approve(which)
    await first.arrived
    valueOf(await world.averba.consents.sync({ subject }))
    const revoking = world.averba.consents.revoke(which)
    await second.arrived
    expect(await useOf(world, which)).toBe('uncertain')
    first.open()
    expect((await approving).status).toBe('settled')
    expect(await useOf(world, which)).toBe('uncertain')
    second.open()
    expect(valueOf(await revoking).status).toBe('REVOGADO')
    expect(await world.averba.effects.list({ state: 'unknown' })).toEqual([])
    await world.close()
  })
})

test('a change is not made only once a reading begun a minute later does not show it', async () => {
  const late: (() => Promise<unknown>)[] = []
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    if (request.method !== 'PUT') return forward(request)
    const copy = request.clone()
    late.push(() => forward(copy))
    return new Response(null, { status: 504 })
  })
  const which = { subject, id: consent.id }
  const commandId = 'revoke-1'
  expect(await world.averba.consents.revoke(which, { commandId })).toMatchObject({
    status: 'unknown',
    next: 'probe',
  })
  expect(await useOf(world, which)).toBe('uncertain')
  await world.clock.advance(3_000)
  await late[0]?.()
  await world.clock.advance(60_000)
  await world.averba.settle()
  expect(await world.averba.consents.revoke(which, { commandId })).toMatchObject({ status: 'settled' })
  expect(await useOf(world, which)).toBe('revoked')
  await world.close()
})

test('a change lost while the clock was ahead is in doubt only until the clock is corrected', async () => {
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    if (request.method === 'PUT') throw new TypeError('reset')
    return forward(request)
  })
  const which = { subject, id: consent.id }
  const revoke = () => world.averba.consents.revoke(which, { commandId: 'revoke-1', waitMs: 0 })
  const aheadMs = 40 * 24 * 3_600_000
  world.clock.jump(aheadMs)
  await revoke()
  await world.averba.settle()
  expect(await revoke()).toMatchObject({ status: 'unknown' })
  world.clock.jump(-aheadMs)
  await world.clock.advance(3_600_000)
  valueOf(await world.averba.consents.sync({ subject }))
  await world.averba.settle()
  expect(await revoke()).toMatchObject({ status: 'declined', problem: { code: 'NOT_DONE' } })
  expect(await useOf(world, which)).toBe('active')
  await world.close()
})

test('a refused revocation leaves the consent in doubt until the pending reading is done', async () => {
  let isDown = false
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    if (request.method === 'PUT') isDown = true
    else if (isDown) throw new Error('reset')
    return forward(request)
  })
  const which = { subject, id: consent.id }
  world.consentService.change(world.samples.cpf, consent.id, 'REVOGADO')
  expect((await world.averba.consents.revoke(which)).status).toBe('declined')
  expect(await useOf(world, which)).toBe('uncertain')
  isDown = false
  await world.clock.advance(3_600_000)
  await world.averba.settle()
  expect(await useOf(world, which)).toBe('revoked')
  await world.close()
})

/** A world whose lists or details are changed on their way. */
async function givenChanged(isOf: (request: Request) => boolean, change: (body: unknown, id: string) => unknown) {
  const changed = { id: '' }
  const intercept: Intercept = async (request, forward) => {
    // A reading in full would end the doubt.
    if (changed.id !== '' && isDetail(request) && !isOf(request)) throw new Error('reset')
    const response = await forward(request)
    return changed.id !== '' && isOf(request) ? Response.json(change(await response.json(), changed.id)) : response
  }
  const { world, subject, consent } = await givenConsent('ATIVO', intercept)
  changed.id = consent.id
  return { world, subject, which: { subject, id: consent.id }, changed }
}

interface Shown {
  readonly id: string
  readonly status: string
  readonly dataHora: string
  readonly historico: readonly object[]
}

describe('an unreadable consent is uncertain, and no other one is', () => {
  test.each([
    ['a status that the contract does not have', (each: Shown) => [{ ...each, status: 'SUSPENSO' }]],
    ['two entries that say two things', (each: Shown) => [{ ...each, status: 'REVOGADO' }, each]],
  ])('%s', async (_, twist) => {
    const { world, subject, which, changed } = await givenChanged(isList, (body, id) => {
      return (body as Shown[]).flatMap(each => (each.id === id ? twist(each) : [each]))
    })
    world.consentService.addConsent({ cpf: world.samples.cpf, cnpj: world.samples.cnpj, status: 'ATIVO' })
    await world.clock.advance(60_000)
    valueOf(await world.averba.consents.sync({ subject }))
    const others = await world.averba.consents.list({ subject, status: 'ATIVO' })
    const other = others.find(each => each.id !== which.id)?.id ?? ''
    expect(await useOf(world, { subject, id: other, ageMaxMs: 30_000 })).toBe('active')
    expect(await useOf(world, which)).toBe('uncertain')
    // Once it is readable, it is effective again.
    changed.id = ''
    await world.clock.advance(1_000)
    expect(await useOf(world, { ...which, ageMaxMs: 0 })).toBe('active')
    await world.close()
  })
})

describe('a status that its own history ends does not count', () => {
  const later = '2026-11-20T12:30:00.000Z'
  test.each([
    { how: 'it ends REVOGADO', last: { status: 'REVOGADO', dataHora: later } },
    { how: 'it ends in small letters', last: { status: 'revogado', dataHora: later } },
    { how: 'it ends in no status of the contract', last: { status: 'SUSPENSO', dataHora: later } },
    { how: 'an end has no date', last: { status: 'REVOGADO', dataHora: null }, isFirst: true },
    { how: 'an end has the newest date', last: { status: 'REVOGADO', dataHora: later }, isFirst: true },
  ])('$how', async ({ last, isFirst }) => {
    const { world, which } = await givenChanged(isDetail, body => {
      const { historico, ...rest } = body as Shown
      return { ...rest, historico: isFirst ? [last, ...historico] : [...historico, last] }
    })
    await world.clock.advance(60 * 60_000)
    await world.averba.consents.get({ ...which, ageMaxMs: 0 })
    await world.clock.advance(1)
    expect((await world.averba.consents.standing(which)).reason).toBe('uncertain')
    expect(await useOf(world, which)).toBe('uncertain')
    await world.close()
  })
})

/** A history with one date for all entries, in the order of the service. */
const tied = (...statuses: readonly string[]) =>
  statuses.map(status => ({ status, dataHora: '2026-11-20T12:00:00Z', dataExpiracao: null }))

describe('a history that does not end the status does not contradict it', () => {
  test.each([
    { how: 'the newest entry first, both of one second', historico: tied('ATIVO', 'PENDENTE') },
    { how: 'the oldest entry first, both of one second', historico: tied('PENDENTE', 'ATIVO') },
    { how: 'former statuses alone', historico: tied('PENDENTE') },
    {
      how: 'one without a date that is no end',
      historico: [{ status: 'PENDENTE', dataHora: null }, ...tied('ATIVO')],
    },
  ])('$how', async ({ historico }) => {
    const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
      const response = await forward(request)
      return isDetail(request) ? Response.json({ ...(await response.json()), historico }) : response
    })
    const which = { subject, id: consent.id }
    world.consentService.change(world.samples.cpf, which.id, 'ATIVO')
    await world.clock.advance(60_000)
    valueOf(await world.averba.consents.sync({ subject }))
    await world.clock.advance(1)
    expect((await world.averba.consents.standing(which)).reason).toBe('active')
    expect(await useOf(world, which)).toBe('active')
    await world.close()
  })

  test.each([tied('PENDENTE', 'ATIVO', 'REVOGADO'), tied('REVOGADO', 'ATIVO', 'PENDENTE')])(
    'entries of the same second that end it in any order contradict it',
    async (...historico) => {
      const { world, which } = await givenChanged(isDetail, body => ({ ...(body as Shown), historico }))
      await world.averba.consents.get({ ...which, ageMaxMs: 0 })
      await world.clock.advance(1)
      expect((await world.averba.consents.standing(which)).reason).toBe('uncertain')
      await world.close()
    },
  )
})

test('a history from before the approval, or in lower case, does not contradict the consent', async () => {
  const { world, subject, consent } = await givenConsent('PENDENTE', async (request, forward) => {
    const response = await forward(request)
    if (!isDetail(request)) return response
    const body = (await response.json()) as { historico: { status: string }[] }
    const historico = body.historico.map(each => ({ ...each, status: each.status.toLowerCase() }))
    return Response.json({ ...body, historico })
  })
  const { consents } = world.averba
  const which = { subject, id: consent.id }
  await consents.get(which)
  valueOf(await consents.approve(which))
  expect(await useOf(world, which)).toBe('active')
  await consents.get({ ...which, ageMaxMs: 0 })
  await world.clock.advance(1)
  expect(await useOf(world, which)).toBe('active')
  await world.close()
})

test('the age of a reading counts from its request, and a use needs one no older than that', async () => {
  const { world, subject, which, held, turnOn, change } = await given('ATIVO', isList, 'back')
  await world.clock.advance(600_000)
  turnOn()
  const syncing = world.averba.consents.sync({ subject })
  await held.arrived
  await world.clock.advance(1_000)
  change('REVOGADO')
  await world.clock.advance(8_000)
  held.open()
  await syncing
  await world.clock.advance(4_900)
  expect(await useOf(world, { ...which, ageMaxMs: 5_000 })).toBe('revoked')
  await world.close()
})

test('a use with ageMaxMs 0 accepts a slow reading that it started', async () => {
  const { world, which, held, turnOn } = await given('ATIVO', isList, 'back')
  await world.clock.advance(60_000)
  turnOn()
  const using = useOf(world, { ...which, ageMaxMs: 0 })
  await held.arrived
  await world.clock.advance(3_000)
  held.open()
  expect(await using).toBe('active')
  await world.close()
})

test('a use waits for a reading no longer than its caller waits', async () => {
  const { world, which, held, turnOn } = await given('ATIVO', isList, 'back')
  await world.clock.advance(60_000)
  turnOn()
  const stopped = new AbortController()
  const asks = [{ waitMs: 200 }, { signal: stopped.signal }]
  const using = Promise.allSettled(
    asks.map(ask => world.averba.consents.use({ ...which, ageMaxMs: 0 }, { basis, ...ask })),
  )
  await held.arrived
  stopped.abort()
  await world.clock.advance(200)
  const refused = { status: 'rejected', reason: { standing: { reason: 'stale' } } }
  expect(await using).toMatchObject([refused, refused])
  held.open()
  await world.close()
})

test('callers and uses do not wait for all readings in full that a list requires', async () => {
  let isSlow = false
  const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
    if (isSlow && isDetail(request)) await world.clock.sleep(9_000)
    return forward(request)
  })
  const { averba, clock, consentService, samples } = world
  const { cpf } = samples
  const others = Array.from({ length: 20 }, () => consentService.addConsent({ cpf, status: 'ATIVO' }))
  valueOf(await averba.consents.sync({ subject }))
  for (const id of others) consentService.change(cpf, id, 'REVOGADO')
  isSlow = true
  const askedAt = clock.now()
  const synced = averba.consents.sync({ subject }, { waitMs: 1_000 })
  expect((await clock.finish(synced)).status).toBe('settled')
  expect(clock.now() - askedAt).toBe(1_000)
  await clock.advance(60_000)
  const listed = averba.consents.list({ subject, ageMaxMs: 1_000 })
  await clock.advance(2_000)
  expect(await clock.finish(useOf(world, { subject, id: consent.id, ageMaxMs: 60_000 }))).toBe('active')
  expect(await clock.finish(useOf(world, { subject, id: consent.id, ageMaxMs: 1_000 }))).toBe('active')
  await clock.finish(listed)
  await clock.finish(averba.settle())
  expect(await averba.consents.list({ subject, status: 'REVOGADO' })).toHaveLength(20)
  await world.close()
})

/** A world in which a test may answer a kind of request itself. */
async function givenCopies(status: 'PENDENTE' | 'ATIVO') {
  const override = { answer: (_: Request): Response | undefined => undefined }
  const { world, subject, consent } = await givenConsent(status, async (request, forward) => {
    const response = await forward(request)
    return override.answer(request) ?? response
  })
  return { world, which: { subject, id: consent.id }, override }
}

test('an answer with the opposite of the requested status does not end the doubt', async () => {
  const { world, which, override } = await givenCopies('ATIVO')
  const { averba, clock } = world
  override.answer = request => {
    if (request.method !== 'PUT') return undefined
    const at = '2026-11-20T12:00:00Z'
    return Response.json({
      id: which.id,
      status: 'ATIVO',
      dataHora: at,
      dataExpiracao: '2027-11-20T12:00:00Z',
      href: '',
    })
  }
  await averba.consents.revoke(which)
  override.answer = () => undefined
  expect(await useOf(world, which)).toBe('uncertain')
  const shown = (await averba.consents.list(which)).find(each => each.id === which.id)
  expect(shown?.knowledge).toBe('uncertain')
  await clock.advance(60_000)
  await averba.settle()
  expect(await useOf(world, which)).toBe('revoked')
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})

test('a lost approval that the person revoked at once was made, as the history shows', async () => {
  const { world, which, override } = await givenCopies('PENDENTE')
  override.answer = request =>
    request.method === 'PUT'
      ? new Response(null, { status: 504 })
      : isDetail(request)
        ? new Response(null, { status: 500 })
        : undefined
  const approve = () => world.averba.consents.approve(which, { commandId: 'once' })
  expect((await approve()).status).toBe('unknown')
  await world.clock.advance(5_000)
  world.consentService.change(world.samples.cpf, which.id, 'REVOGADO')
  valueOf(await world.averba.consents.sync(which))
  override.answer = () => undefined
  await world.clock.advance(3_600_000)
  await world.averba.settle()
  expect((await approve()).status).toBe('settled')
  expect(await useOf(world, which)).toBe('revoked')
  await world.close()
})
