import { expect, test } from 'vitest'
import { shows } from '../../../src/simulation/index.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const hourMs = 3_600_000

test('an expired login counts as logged out without a request', async () => {
  const world = await openWorld()
  const { averba, clock, consentService, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  expect((await averba.logins.state({ subject })).autenticado).toBe(false)
  consentService.logIn(samples.cpf, clock.now() + hourMs)
  expect((await averba.logins.state({ subject })).autenticado).toBe(true)
  const state = () => averba.logins.state({ subject, ageMaxMs: 24 * hourMs })
  expect((await state()).autenticado).toBe(true)
  const requestCount = world.requests.length
  await clock.advance(hourMs)
  expect((await state()).autenticado).toBe(false)
  expect(world.requests.length).toBe(requestCount)
})

test('a login returns only to listed addresses; any other is refused without a request', async () => {
  const redirectUrl = 'https://app.exemplo.br/volta'
  const world = await openWorld()
  const consentService = {
    baseUrl: 'https://consentimento.exemplo.br',
    certificate: { cert: '', key: '' },
    redirectUrls: [redirectUrl],
  }
  const listed = await openWorld({ averba: { consentService } })
  for (const each of [world, listed]) {
    const subject = await each.averba.consents.enrol({ cpf: each.samples.cpf })
    for (const other of ['https://malvado.exemplo/', `${redirectUrl}?x`, `${redirectUrl}.malvado.exemplo`]) {
      const asking = each.averba.logins.url({ subject }, { redirectUrl: other })
      await expect(asking).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    }
    expect(each.requests).toEqual([])
  }
  const url = await listed.averba.logins.url({ cpf: listed.samples.cpf }, { redirectUrl })
  expect([url.hostname, url.searchParams.get('redirectUrl')]).toEqual(['login.exemplo.br', redirectUrl])
})

test('concurrent callers share one reading of awareness records that are too old', async () => {
  const world = await openWorld()
  const { averba, clock, consentService, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  expect(await averba.awareness.list({ subject })).toHaveLength(1)
  consentService.addAwareness({ cpf: samples.cpf, cnpj: samples.cnpj })
  await clock.advance(2 * hourMs)
  expect(await averba.awareness.list({ subject })).toHaveLength(1)
  const requestCount = world.requests.length
  const fresh = { subject, ageMaxMs: hourMs }
  const lists = await Promise.all(Array.from({ length: 20 }, () => averba.awareness.list(fresh)))
  expect(lists.map(list => list.length)).toEqual(Array.from({ length: 20 }, () => 2))
  expect(world.requests.length).toBe(requestCount + 1)
  const id = lists[0]?.[1]?.id ?? ''
  const detail = await averba.awareness.get({ subject, id })
  expect(detail?.hipoteses?.[0]?.hipoteseTratamento.nome).toBe('Execução de contrato')
  expect(await averba.awareness.get({ subject, id: 'nao-existe' })).toBeUndefined()
  await averba.awareness.get({ ...fresh, id })
  expect(world.requests.length).toBe(requestCount + 2)
  await clock.advance(2 * hourMs)
  expect((await averba.awareness.get({ ...fresh, id }))?.readAt).toBe(new Date(clock.now()).toISOString())
})

test('an unlisted awareness record vanishes, is announced, and may appear again', async () => {
  let hidden: 'none' | 'all' | 'unreadable' = 'none'
  const world = await openWorld({
    intercept: async (request, forward) => {
      if (hidden === 'none' || !/ciencias\/\d+$/.test(request.url)) return forward(request)
      return Response.json(hidden === 'all' ? [] : [{ id: 7 }])
    },
  })
  const { averba, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const announced: unknown[] = []
  averba.on('subject.awarenessVanished', event => announced.push(event.anomaly))
  const fresh = { subject, ageMaxMs: 0 }
  const again = async () => {
    await world.clock.advance(1_000)
    return (await averba.awareness.list(fresh)).map(each => each.id)
  }
  const [id = ''] = await again()
  const known = await averba.awareness.get({ subject, id })
  // The unreadable record may be the missing one.
  hidden = 'unreadable'
  expect(await again()).toEqual([id])
  hidden = 'all'
  expect(await again()).toEqual([])
  expect(await again()).toEqual([])
  expect(announced).toEqual(['the service no longer lists it'])
  expect(await averba.awareness.list({ subject, vanished: true })).toMatchObject([{ id }])
  const requestCount = world.requests.length
  expect(await averba.awareness.get({ ...fresh, id })).toEqual(known)
  expect(world.requests.length).toBe(requestCount)
  hidden = 'none'
  expect(await again()).toEqual([id])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('readings of logins and awareness count from their request, so newer needs do not share', async () => {
  let slowMs = 0
  const world = await openWorld({
    async intercept(request, forward) {
      const response = await forward(request)
      const ms = slowMs
      slowMs = 0
      if (ms > 0) await world.clock.sleep(ms)
      return response
    },
  })
  const { averba, clock, consentService, samples } = world
  const now = () => new Date(clock.now()).toISOString()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  consentService.logIn(samples.cpf, clock.now() + hourMs)
  const askedAt = now()
  slowMs = 8_000
  const asking = averba.logins.state({ subject })
  await clock.advance(4_000)
  consentService.logIn(samples.cpf, clock.now()) // Logged out.
  expect(await clock.finish(asking)).toMatchObject({ autenticado: true, readAt: askedAt })
  expect((await averba.logins.state({ subject, ageMaxMs: 7_000 })).autenticado).toBe(false)

  const first = now()
  slowMs = 8_000
  const lists = [averba.awareness.list({ subject, ageMaxMs: 0 })]
  await clock.advance(5_000)
  consentService.addAwareness({ cpf: samples.cpf, cnpj: samples.cnpj })
  await clock.advance(1_000)
  const requestCount = world.requests.length
  for (const ageMaxMs of [6_000, 5_999, 0]) lists.push(averba.awareness.list({ subject, ageMaxMs }))
  await clock.advance(1_999)
  expect(world.requests.length).toBe(requestCount)
  const results = await clock.finish(Promise.all(lists))
  expect(results.map(list => list.length)).toEqual([1, 1, 2, 2])
  expect(results.map(list => list[0]?.readAt)).toEqual([first, first, now(), now()])
  expect(world.requests.length).toBe(requestCount + 1)
  const [id = ''] = results[3]?.map(each => each.id) ?? []
  const described = now()
  slowMs = 8_000
  expect((await clock.finish(averba.awareness.get({ subject, id })))?.readAt).toBe(described)
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('a changed controller or date of an awareness record is recorded and shown', async () => {
  let changed = {}
  const { averba, clock, samples } = await openWorld({
    averba: { store: temporaryStore() },
    async intercept(request, forward) {
      const response = await forward(request)
      if (!/ciencias\/\d+$/.test(request.url)) return response
      return Response.json(((await response.json()) as object[]).map(each => ({ ...each, ...changed })))
    },
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const announced: unknown[] = []
  averba.on('subject.awarenessAmended', ({ data }) => announced.push(data))
  const again = async (cnpj?: string) => {
    await clock.advance(1_000)
    return averba.awareness.list({ subject, ageMaxMs: 0, ...(cnpj !== undefined && { cnpj }) })
  }
  const [first] = await again()
  const cnpjUsuario = '00000000000191'
  changed = { cnpjUsuario, dataHora: '2026-11-01T00:00:00Z' }
  const dataHora = '2026-11-01T00:00:00.000Z'
  expect(await again()).toMatchObject([{ id: first?.id, cnpjUsuario, dataHora }])
  expect(await again(cnpjUsuario)).toHaveLength(1)
  expect(await again(first?.cnpjUsuario ?? '')).toEqual([])
  expect(announced).toEqual([{ record: expect.any(String), createdAt: dataHora, controller: cnpjUsuario }])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  expect((await averba.audit.verify()).faults).toEqual([])
  expect(await averba.subjects.report({ subject }, { language: 'en' })).toContain(
    'The service corrected date or controller of an awareness record',
  )
})

test('concurrent questions of one page show that an awareness record is missing', async () => {
  let isMissing = false
  const { averba, clock, samples } = await openWorld({
    async intercept(request, forward) {
      const answer = await forward(request)
      return isMissing && /ciencias\/\d+$/.test(request.url) ? Response.json([]) : answer
    },
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const page = async () => {
    await clock.advance(hourMs)
    const asked = { subject, ageMaxMs: hourMs / 2 }
    const both = Promise.all([averba.awareness.list(asked), averba.logins.state(asked)])
    return (await clock.finish(both))[0]
  }
  expect(await page()).toHaveLength(1)
  isMissing = true
  expect(await page()).toEqual([])
})

test('an older answer about a login does not replace a newer one', async () => {
  const [arrived, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isSlow = false
  const { averba, clock, consentService, samples } = await openWorld({
    async intercept(request, forward) {
      const answer = await forward(request)
      if (!isSlow || !/autenticacao\/\d+$/.test(request.url)) return answer
      isSlow = false
      arrived.resolve()
      await opened.promise
      return answer
    },
  })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  consentService.logIn(samples.cpf, clock.now() + hourMs)
  isSlow = true
  const slow = averba.logins.state({ subject })
  await arrived.promise
  await clock.advance(1_000)
  consentService.logIn(samples.cpf, 0)
  const newer = await averba.logins.state({ subject })
  opened.resolve()
  await slow
  expect(newer.autenticado).toBe(false)
  expect(await averba.logins.state({ subject, ageMaxMs: hourMs })).toEqual(newer)
})

test('an older detail does not replace a newer one', () => {
  const at = (second: number) => `2026-11-20T11:59:0${second}.000Z`
  const reading = { createdAt: null, controller: null }
  const [awareness] = shows({
    view: 'awareness',
    given: [
      { type: 'subject.awarenessAppeared', data: { record: 'r', subject: 's', ...reading } },
      { type: 'subject.awarenessDescribed', data: { record: 'r', askedAt: at(3) } },
      { type: 'subject.awarenessDescribed', data: { record: 'r', askedAt: at(1) } },
    ],
  })
  expect(awareness).toMatchObject({ detail: 'subject-1/2/detail', described_at: at(3) })
  const given = { status: 'ATIVO', expiresAt: null, ...reading } as const
  const [consent] = shows({
    view: 'consents',
    given: [
      { type: 'consent.appeared', data: { consent: 'c', subject: 's', ...given } },
      { type: 'consent.described', data: { status: 'ATIVO', history: [], askedAt: at(3) } },
      { type: 'consent.described', data: { status: 'ATIVO', history: [], askedAt: at(1), isOld: true } },
    ],
  })
  expect(consent).toMatchObject({ detail: 'consent-1/2/detail', described_at: at(3) })
})
