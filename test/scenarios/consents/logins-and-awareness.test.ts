import { expect, test } from 'vitest'
import { shows } from '../../../src/simulation/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { hourMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'

/** An enrolled person, and a service whose next answer can take time and whose lists of awareness records can change. */
async function given(store = ':memory:') {
  const shown = { slowMs: 0, records: (all: object[]) => all }
  const world = await openWorld({
    averba: { store },
    async intercept(request, forward) {
      const response = await forward(request)
      const { slowMs } = shown
      shown.slowMs = 0
      if (slowMs > 0) await world.clock.sleep(slowMs)
      if (!/ciencias\/\d+$/.test(request.url)) return response
      return Response.json(shown.records((await response.json()) as object[])) // A list.
    },
  })
  const { averba, clock, consentService, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  return {
    ...{ ...averba, averba, clock, requests: world.requests, shown, subject },
    logIn: (untilMs: number) => consentService.logIn(samples.cpf, untilMs),
    addAwareness: () => consentService.addAwareness({ cpf: samples.cpf, cnpj: samples.cnpj }),
    now: () => toInstant(clock.now()),
  }
}

test('an expired login counts as logged out without a request', async () => {
  const { clock, logIn, logins, requests, subject } = await given()
  expect((await logins.state({ subject })).autenticado).toBe(false)
  logIn(clock.now() + hourMs)
  expect((await logins.state({ subject })).autenticado).toBe(true)
  const state = () => logins.state({ subject, ageMaxMs: 24 * hourMs })
  expect((await state()).autenticado).toBe(true)
  const requestCount = requests.length
  await clock.advance(hourMs)
  expect((await state()).autenticado).toBe(false)
  expect(requests.length).toBe(requestCount)
})

test('a login returns only to listed addresses; any other is refused without a request', async () => {
  const redirectUrl = 'https://app.exemplo.br/volta'
  const world = await openWorld()
  const listed = await openWorld({ averba: { consentService: consentServiceWith({ redirectUrls: [redirectUrl] }) } })
  for (const each of [world, listed]) {
    const subject = await each.averba.consents.enrol({ cpf: each.samples.cpf })
    for (const other of ['https://malvado.exemplo/', `${redirectUrl}?x`, `${redirectUrl}.malvado.exemplo`])
      await refuses('INVALID_INPUT', each.averba.logins.url({ subject }, { redirectUrl: other }))
    expect(each.requests).toEqual([])
  }
  const url = await listed.averba.logins.url({ cpf: listed.samples.cpf }, { redirectUrl })
  expect([url.hostname, url.searchParams.get('redirectUrl')]).toEqual(['login.exemplo.br', redirectUrl])
})

test('concurrent callers share one reading of awareness records that are too old', async () => {
  const { addAwareness, awareness, clock, now, requests, subject } = await given()
  expect(await awareness.list({ subject })).toHaveLength(1)
  addAwareness()
  await clock.advance(2 * hourMs)
  expect(await awareness.list({ subject })).toHaveLength(1)
  const requestCount = requests.length
  const fresh = { subject, ageMaxMs: hourMs }
  const lists = await Promise.all(Array.from({ length: 20 }, () => awareness.list(fresh)))
  expect(lists.map(list => list.length)).toEqual(Array(20).fill(2))
  expect(requests.length).toBe(requestCount + 1)
  const id = lists[0]?.[1]?.id ?? ''
  const detail = await awareness.get({ subject, id })
  expect(detail?.hipoteses?.[0]?.hipoteseTratamento.nome).toBe('Execução de contrato')
  expect(await awareness.get({ subject, id: 'nao-existe' })).toBeUndefined()
  await awareness.get({ ...fresh, id })
  expect(requests.length).toBe(requestCount + 2)
  await clock.advance(2 * hourMs)
  expect((await awareness.get({ ...fresh, id }))?.readAt).toBe(now())
})

test('an unlisted awareness record vanishes, is announced, and may appear again', async () => {
  const { averba, awareness, clock, requests, shown, subject } = await given()
  const announced: unknown[] = []
  averba.on('subject.awarenessVanished', event => announced.push(event.anomaly))
  const fresh = { subject, ageMaxMs: 0 }
  const again = async (records = (all: object[]) => all) => {
    shown.records = records
    await clock.advance(1_000)
    return (await awareness.list(fresh)).map(each => each.id)
  }
  const [id = ''] = await again()
  const known = await awareness.get({ subject, id })
  // The unreadable record may be the missing one.
  expect(await again(() => [{ id: 7 }])).toEqual([id])
  expect(await again(() => [])).toEqual([])
  expect(await again(() => [])).toEqual([])
  expect(announced).toEqual(['the service no longer lists it'])
  expect(await awareness.list({ subject, vanished: true })).toMatchObject([{ id }])
  const requestCount = requests.length
  expect(await awareness.get({ ...fresh, id })).toEqual(known)
  expect(requests.length).toBe(requestCount)
  expect(await again()).toEqual([id])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('readings of logins and awareness count from their request, so newer needs do not share', async () => {
  const { addAwareness, averba, awareness, clock, logIn, logins, now, requests, shown, subject } = await given()
  logIn(clock.now() + hourMs)
  const askedAt = now()
  shown.slowMs = 8_000
  const asking = logins.state({ subject })
  await clock.advance(4_000)
  logIn(clock.now()) // Logged out.
  expect(await clock.finish(asking)).toMatchObject({ autenticado: true, readAt: askedAt })
  expect((await logins.state({ subject, ageMaxMs: 7_000 })).autenticado).toBe(false)

  const first = now()
  shown.slowMs = 8_000
  const lists = [awareness.list({ subject, ageMaxMs: 0 })]
  await clock.advance(5_000)
  addAwareness()
  await clock.advance(1_000)
  const requestCount = requests.length
  for (const ageMaxMs of [6_000, 5_999, 0]) lists.push(awareness.list({ subject, ageMaxMs }))
  await clock.advance(1_999)
  expect(requests.length).toBe(requestCount)
  const results = await clock.finish(Promise.all(lists))
  expect(results.map(list => list.length)).toEqual([1, 1, 2, 2])
  expect(results.map(list => list[0]?.readAt)).toEqual([first, first, now(), now()])
  expect(requests.length).toBe(requestCount + 1)
  const [id = ''] = results[3]?.map(each => each.id) ?? []
  const described = now()
  shown.slowMs = 8_000
  expect((await clock.finish(awareness.get({ subject, id })))?.readAt).toBe(described)
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
})

test('a changed controller or date of an awareness record is recorded and shown', async () => {
  const { averba, awareness, clock, shown, subject, subjects } = await given(temporaryStore())
  const announced: unknown[] = []
  averba.on('subject.awarenessAmended', ({ data }) => announced.push(data))
  const again = async (cnpj?: string) => {
    await clock.advance(1_000)
    return awareness.list({ subject, ageMaxMs: 0, ...(cnpj !== undefined && { cnpj }) })
  }
  const [first] = await again()
  const cnpjUsuario = '00000000000191'
  shown.records = all => all.map(each => ({ ...each, cnpjUsuario, dataHora: '2026-11-01T00:00:00Z' }))
  const dataHora = '2026-11-01T00:00:00.000Z'
  expect(await again()).toMatchObject([{ id: first?.id, cnpjUsuario, dataHora }])
  expect(await again(cnpjUsuario)).toHaveLength(1)
  expect(await again(first?.cnpjUsuario ?? '')).toEqual([])
  expect(announced).toEqual([{ record: expect.any(String), createdAt: dataHora, controller: cnpjUsuario }])
  expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  expect((await averba.audit.verify()).faults).toEqual([])
  expect(await subjects.report({ subject }, { language: 'en' })).toContain(
    'The service corrected date or controller of an awareness record',
  )
})

test('concurrent questions of one page show that an awareness record is missing', async () => {
  const { awareness, clock, logins, shown, subject } = await given()
  const asked = { subject, ageMaxMs: hourMs / 2 }
  const page = async () => {
    await clock.advance(hourMs)
    return (await clock.finish(Promise.all([awareness.list(asked), logins.state(asked)])))[0]
  }
  expect(await page()).toHaveLength(1)
  shown.records = () => []
  expect(await page()).toEqual([])
})

test('an older answer about a login does not replace a newer one', async () => {
  const { clock, logIn, logins, requests, shown, subject } = await given()
  logIn(clock.now() + hourMs)
  shown.slowMs = 5_000
  const slow = logins.state({ subject })
  await clock.advance(1_000)
  // It has been answered, and waits.
  expect([requests.length, shown.slowMs]).toEqual([1, 0])
  logIn(0)
  const newer = await logins.state({ subject })
  await clock.finish(slow)
  expect(newer.autenticado).toBe(false)
  expect(await logins.state({ subject, ageMaxMs: hourMs })).toEqual(newer)
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
