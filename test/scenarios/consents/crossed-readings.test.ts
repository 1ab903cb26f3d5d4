import { describe, expect, test } from 'vitest'
import type { Standing } from '../../../src/api/consents/event-history.ts'
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

/** Says why the data may be used, or may not: `active` is a use. */
async function useOf({ averba }: World, which: Parameters<Consents['use']>[0]): Promise<Standing['reason']> {
  try {
    return (await averba.consents.use(which, { basis })).reason
  } catch (error) {
    return (error as AverbaError & { standing: Standing }).standing.reason // Nothing else is thrown here.
  }
}

/** Holds up one request, before it arrives or with its answer. */
function gate() {
  const [arrived, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const hold = () => {
    arrived.resolve()
    return opened.promise
  }
  return { arrived: arrived.promise, open: opened.resolve, hold }
}

/** A world in which one request of a kind is held up on its way there, or on its way back. */
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

describe('a reading that crosses a newer one is never believed, and never passed over', () => {
  test('two readings in full of which the older one brings the revocation', async () => {
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

  test('a list with the revocation, of which a reading in full that ended sooner did not know', async () => {
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

  test('a list from before a revocation of ours does not make the consent stand, nor look as if it did', async () => {
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

describe('a list that crosses a newer reading counts for what it shows beside the status', () => {
  /** A list that leaves after the service has changed, and is answered after a reading in full from before that. */
  async function crossedList(
    change: (listed: Listed[], id: string) => Listed[],
    detail: (shown: Listed) => Response,
  ) {
    const [read, listed] = [gate(), gate()]
    let isOn = false
    let hasChanged = false
    let id = ''
    const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
      const isNew = hasChanged
      const answer = await forward(request)
      if (isList(request)) {
        if (isOn) await listed.hold()
        return isNew ? Response.json(change((await answer.json()) as Listed[], id)) : answer // As the service answers.
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

  test('an expiry that was brought forward', async () => {
    const dataExpiracao = '2026-11-20T12:00:30.000Z'
    const amended = (shown: Listed) => ({ ...shown, dataExpiracao })
    const { world, which } = await crossedList(
      (listed, id) => listed.map(each => (each.id === id ? amended(each) : each)),
      shown => Response.json(amended(shown)),
    )
    expect(await useOf(world, which)).toBe('expired')
    await world.close()
  })

  test('that the consent is gone', async () => {
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

describe('an answer that comes after a reading has told', () => {
  const isPut = ({ method }: Request) => method === 'PUT'

  test('does not bring a revoked consent back', async () => {
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

  test.each(['answered', 'lost'])(
    'ends no doubt about the revocation that was asked for since: %s',
    async how => {
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
    },
  )
})

test('a change is not made for certain only once a reading that leaves a minute later does not show it', async () => {
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

test('a change that was lost while a clock was ahead is in doubt no longer than until that was put right', async () => {
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

test('a refused revocation leaves the consent in doubt until the reading that it owes has told', async () => {
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

/** A world whose list, or reading in full, is changed on its way. */
async function givenChanged(
  isOf: (request: Request) => boolean,
  change: (body: unknown, id: string) => unknown,
) {
  const changed = { id: '' }
  const intercept: Intercept = async (request, forward) => {
    // A reading in full would tell.
    if (changed.id !== '' && isDetail(request) && !isOf(request)) throw new Error('reset')
    const response = await forward(request)
    return changed.id !== '' && isOf(request)
      ? Response.json(change(await response.json(), changed.id))
      : response
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

describe('what cannot be read of a consent makes it uncertain, and it alone', () => {
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
    // Readable again, it stands as before.
    changed.id = ''
    await world.clock.advance(1_000)
    expect(await useOf(world, { ...which, ageMaxMs: 0 })).toBe('active')
    await world.close()
  })
})

describe('a status does not count that its own history ends', () => {
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

/** The histories of one instant, in the order in which the service gives them. */
const tied = (...statuses: readonly string[]) =>
  statuses.map(status => ({ status, dataHora: '2026-11-20T12:00:00Z', dataExpiracao: null }))

describe('a history does not speak against a status that it does not end', () => {
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
    'but one of one second that ends it in either order does',
    async (...historico) => {
      const { world, which } = await givenChanged(isDetail, body => ({ ...(body as Shown), historico }))
      await world.averba.consents.get({ ...which, ageMaxMs: 0 })
      await world.clock.advance(1)
      expect((await world.averba.consents.standing(which)).reason).toBe('uncertain')
      await world.close()
    },
  )
})

test('a history from before a consent was approved does not speak against it, and one in small letters does neither', async () => {
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

test('a reading is as old as its question, and one that is made for a use is no older than that', async () => {
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

test('a use with an age of nothing is answered by a reading that takes its time', async () => {
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

test('a use waits for a reading no longer than its caller does', async () => {
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

test('what a list makes necessary is read in full by itself: neither its caller nor another use waits for all of it', async () => {
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
  const asked = clock.now()
  const synced = averba.consents.sync({ subject }, { waitMs: 1_000 })
  expect((await clock.finish(synced)).status).toBe('settled')
  expect(clock.now() - asked).toBe(1_000)
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

/** Answers a kind of request from what the service said once, or declines it, while that is asked for. */
async function givenCopies(status: 'PENDENTE' | 'ATIVO') {
  const told = { answer: (_: Request): Response | undefined => undefined }
  const { world, subject, consent } = await givenConsent(status, async (request, forward) => {
    const response = await forward(request)
    return told.answer(request) ?? response
  })
  return { world, which: { subject, id: consent.id }, told }
}

test('an answer that shows the opposite of what was asked for ends no doubt', async () => {
  const { world, which, told } = await givenCopies('ATIVO')
  const { averba, clock } = world
  told.answer = request => {
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
  told.answer = () => undefined
  expect(await useOf(world, which)).toBe('uncertain')
  const shown = (await averba.consents.list(which)).find(each => each.id === which.id)
  expect(shown?.knowledge).toBe('uncertain')
  await clock.advance(60_000)
  await averba.settle()
  expect(await useOf(world, which)).toBe('revoked')
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  await world.close()
})

test('a lost approval that somebody revoked at once was made, as the history tells', async () => {
  const { world, which, told } = await givenCopies('PENDENTE')
  told.answer = request =>
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
  told.answer = () => undefined
  await world.clock.advance(3_600_000)
  await world.averba.settle()
  expect((await approve()).status).toBe('settled')
  expect(await useOf(world, which)).toBe('revoked')
  await world.close()
})
