import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serveStatus } from '../../src/cli/status-server.ts'
import { createApp, serveConsole } from '../../src/console/serve-console.ts'
import type { Language } from '../../src/index.ts'
import type { World } from '../../src/simulation/index.ts'
import { answering, busy } from '../support/answers.ts'
import { isChange } from '../support/consent-requests.ts'
import { eventsOf } from '../support/events-of.ts'
import { readConsent } from '../support/given-consent.ts'
import { hourMs } from '../support/pass-time.ts'
import { createReportedWorld } from '../support/reported-world.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openWorld } from '../support/world.ts'

const token = 'o-segredo-do-endereco'
const origin = 'http://127.0.0.1:4000'
const base = '/o-caminho'
const cookie = `averba-console=${token}`

/** The console of a world; with an actor it acts. */
function consoleOf({ averba }: World, { actor, language = 'en' }: { actor?: string; language?: Language } = {}) {
  const bugs: unknown[] = []
  const app = createApp({ averba, language, actor, port: 0, onBug: error => void bugs.push(error), base, token })
  const request = async (path: string, init: RequestInit = { headers: { cookie } }, root = origin + base) => {
    const answer = await app.fetch(new Request(`${root}${path}`, init))
    const text = await answer.text()
    // Every address in a page is one of the console.
    expect(text).not.toMatch(/ (href|src|action)="(https?:|\/(?!o-caminho\/))/)
    return { status: answer.status, headers: answer.headers, text: text.replaceAll(`"${base}/`, '"/') }
  }
  const post = (path: string, fields: Record<string, string>, from = origin) => {
    const headers = { cookie, origin: from, 'content-type': 'application/x-www-form-urlencoded' }
    return request(`/act/${path}`, { method: 'POST', headers, body: new URLSearchParams(fields).toString() })
  }
  return { bugs, request, get: (path: string) => request(path), post }
}

test('nothing is reachable without the token, from another name or page, and no page may load or send elsewhere', async () => {
  const { request, get, post } = consoleOf(await openWorld(), { actor: 'agent-7' })
  for (const path of ['/', '/log', '/console.css', '/?token=guess', '/nothing'])
    expect(await request(path, {}), path).toMatchObject({ status: 403, text: expect.not.stringContaining('<') })
  // A name of somebody else that leads to this machine.
  expect((await request('/', { headers: { cookie } }, `http://rebound.exemplo.br:4000${base}`)).status).toBe(403)
  // A browser sends the cookie to every port of a name, but only to this path: nobody else learns it.
  for (const path of ['/', '/log', '/console.css', `/?token=${token}`, `/x${base}/`])
    expect(await request(path, { headers: { cookie } }, origin)).toMatchObject({ status: 404, text: 'Not Found' })
  const entered = await request(`/?token=${token}`, {})
  expect([entered.status, entered.headers.get('location')]).toEqual([302, `${base}/`])
  expect(entered.headers.get('set-cookie')).toBe(`${cookie}; Path=${base}; HttpOnly; SameSite=Strict`)
  const shown = await get('/')
  expect(shown.headers.get('content-security-policy')).toBe(
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  )
  expect(shown.headers.get('referrer-policy')).toBe('same-origin')
  expect(shown.headers.get('cache-control')).toBe('no-store')
  expect((await post('effects/park', { id: 'x' }, 'https://outro.exemplo.br')).status).toBe(403)
  expect((await post('effects/explode', {})).status).toBe(404)
})

test('every page shows the log in both languages, without personal data or acts, and foreign text is no markup', async () => {
  const { world, which } = await createReportedWorld(temporaryStore())
  const stream = (await eventsOf(world, 'consent.appeared'))[0]?.stream ?? ''
  const pages = [
    ...['/', '/effects?state=settled', '/consents', '/consents?ends=1', '/validations', '/notifications'],
    ...['/subscriptions', '/followers', '/log', '/log?kind=consent&type=consent.appeared', '/verify?now=1'],
    ...['/machines', '/machines/subject', '/compare?view=consents&a=5&b=40', '/compare?view=&a=5&b=40'],
    ...[`/stream/${stream}`, `/stream/${stream}?known=20`, '/consents?known=20', '/log/rows?after=3'],
  ]
  for (const language of ['en', 'pt-BR'] as const) {
    const { get } = consoleOf(world, { language })
    for (const page of pages) {
      const { status, text } = await get(page)
      expect([page, status]).toEqual([page, 200])
      for (const personal of [world.samples.cpf, '52998224725', 'Maria', which.id])
        expect(text, `${page} has ${personal}`).not.toContain(personal)
      expect(text, page).not.toContain('method="post"')
      if (page !== '/log/rows?after=3') expect(text).toContain(`<html lang="${language}">`)
    }
  }
  const { get, post } = consoleOf(world)
  for (const act of ['effects/park', 'reveal']) expect((await post(act, { id: 'x' })).status).toBe(403)
  expect((await get(`/stream/${encodeURIComponent('<b>x')}`)).text).not.toContain('<b>x')
  expect(await get('/log?type=consent.x')).toMatchObject({
    status: 400,
    text: expect.stringContaining('INVALID_INPUT'),
  })
  for (const list of ['consents', 'effects', 'subscriptions'])
    expect(await get(`/${list}?known=2030-01-01T00:00:00Z`)).toMatchObject({ status: 400 })
  const missing = expect.stringMatching(/<h1>Not found\.<\/h1>\n<p>[A-Z][^<]+<\/p><p><a href="\/[^"?]+">/)
  for (const nowhere of ['/stream/constructor-1', `/stream/${stream}?known=1`, '/machines/none', '/nothing'])
    expect(await get(nowhere)).toMatchObject({ status: 404, text: missing })
  expect((await get('/?lang=pt-BR')).text).toMatch(/Visão geral.*nenhuma eliminação se perdeu/s)
  const { text: machine } = await get('/machines/consent?lang=pt-BR')
  expect(machine).toContain('Um pedido de consentimento de um titular')
  expect(machine).not.toContain('The data subject')
  // What only a bug throws is told to who started the console, and no page shows it.
  const averba = { ...world.averba, figures: () => Promise.reject(new TypeError('x y z')) }
  const broken = consoleOf({ ...world, averba })
  expect(await broken.get('/')).toMatchObject({ status: 500, text: expect.not.stringContaining('x y z') })
  expect(broken.bugs).toMatchObject([{ message: 'x y z' }])
})

test('a stream leads to what it is about, a past moment shows what was known then, and a proof answers', async () => {
  const { world } = await createReportedWorld()
  const { get } = consoleOf(world)
  const [consent] = await world.averba.views.selectFrom('consents').selectAll().execute()
  const { text } = await get(`/stream/${consent?.consent}`)
  expect(text).toContain(`<dt>Data subject</dt><dd><a href="/stream/subject-${consent?.subject}">`)
  expect(text).toMatch(/<dt>Changed at<\/dt><dd><time datetime="/)
  const settled = await world.averba.effects.list({ state: 'settled' })
  const newest = settled.toSorted((one, other) => other.position - one.position).map(({ id }) => id)
  const ids = /(?<=<code>)[a-z]+-[^/<]+\/\d+\/\d+(?=<\/code>)/g
  for (const known of ['', await world.averba.log.end()])
    expect((await get(`/effects?state=settled&known=${known}`)).text.match(ids)).toEqual(newest)
  const [revoked] = await eventsOf(world, 'consent.revoked')
  const page = (known: string) => get(`/stream/${revoked?.stream}?known=${known}`)
  expect((await page(String((revoked?.position ?? 0) - 1))).text).toMatch(/<strong>ATIVO<\/strong> <mark>/)
  expect((await page('')).text).toMatch(/<strong>REVOGADO<\/strong> <mark>/)
  // At first nothing was called, known or subscribed to.
  const { text: first } = await get('/?known=1')
  expect(first.match(/(?<=<strong>)\d+(?=<\/strong>)/g)).toEqual(['0', '0', '0', '0'])
  expect(first).toContain('Checks and followers are always those of now.')
  for (const list of ['effects', 'subscriptions']) expect((await get(`/${list}?known=1`)).text).toContain('None.')
  const [requested] = await eventsOf(world, 'subscription.registrationRequested')
  expect((await get(`/subscriptions?known=${requested?.position}`)).text).toMatch(/\?known=\d+">.*>being registered</s)
  const proof = await get(`/prove?stream=${revoked?.stream}&at=2026-11-20T12:10:00.000Z`)
  expect(proof).toMatchObject({ status: 200, text: expect.stringContaining('Yes, it was valid') })
  // After the clock was ahead, the instant of now means all that is recorded.
  world.clock.jump(-9_000 * hourMs)
  expect(await world.averba.subscriptions.list({ knownAt: new Date(world.clock.now()).toISOString() })).toHaveLength(1)
})

test('an operator acts in a name that the log keeps, and sees personal data only after an event that says so', async () => {
  const { world } = await createReportedWorld()
  const { get, post } = consoleOf(world, { actor: 'agent-7' })
  const actor = { kind: 'person', ref: 'agent-7' }
  const [appeared] = await eventsOf(world, 'consent.appeared')
  const stream = appeared?.stream ?? ''
  expect((await get(`/stream/${stream}`)).text).toContain('action="/act/reveal"')
  expect((await post('reveal', { stream, purpose: 'ticket 12' })).text).toContain('cnpjUsuario')
  expect((await eventsOf(world, 'reveal.recorded')).at(-1)).toMatchObject({ actor, data: { purpose: 'ticket 12' } })
  expect((await post('reveal', { stream, purpose: '' })).text).toContain('INVALID_INPUT')
  // Its row is found, and nothing in it is sealed.
  const [subscribed] = await eventsOf(world, 'subscription.registered')
  const ofSubscription = await post('reveal', { stream: subscribed?.stream ?? '', purpose: 'ticket 12' })
  expect(ofSubscription.text).toContain('INVALID_INPUT: Cannot reveal: nothing is sealed')
  const active = await world.averba.views.selectFrom('consents').selectAll().where('status', '=', 'ATIVO').execute()
  const fields = { stream: active[0]?.consent ?? '', reason: 'asked by phone' }
  const done = `<h1>Revoke</h1>\n<p><code>${fields.stream}</code></p><div class="card yes"><strong>Done.`
  expect((await post('consents/revoke', fields)).text).toContain(done)
  const requested = (await eventsOf(world, 'consent.changeRequested')).at(-1)
  expect(requested).toMatchObject({ actor, data: { status: 'REVOGADO' } })
  expect((await post('consents/revoke', fields)).text).toContain('REFUSED')
  const none = { id: 'consent-x/1/0', name: 'nobody', evento: 'none' }
  const acts = ['notifications/replay', 'notifications/skip', 'validations/charged', 'validations/not-charged']
  const others = ['effects/retry', 'effects/park', 'effects/withdraw', 'followers/retry', 'followers/skip']
  for (const act of [...others, ...acts, 'subscriptions/rotate'])
    expect((await post(act, none)).text, act).toMatch(/Not done\.<\/strong> (NOT_FOUND|REFUSED)/)
})

test('an act that is not known or declined is not called done, and a form that is sent twice is one act', async () => {
  const answers = [busy(), Response.json({ title: 'Ana Lima', detail: 'Ana Lima' }, { status: 422 })]
  const world = await openWorld({ intercept: answering(isChange, () => answers.shift()) })
  await readConsent(world)
  const { bugs, request, get, post } = consoleOf(world, { actor: 'agent-7' })
  const rows = await world.averba.views.selectFrom('consents').selectAll().execute()
  const [active, pending] = ['ATIVO', 'PENDENTE'].map(it => rows.find(each => each.status === it)?.consent ?? '')
  const [, command = ''] = /name="command" value="([a-z]+)"/.exec((await get(`/stream/${active}`)).text) ?? []
  const fields = { stream: active ?? '', reason: 'asked by phone', command }
  for (let times = 0; times < 2; times++)
    expect((await post('consents/revoke', fields)).text).toContain('Recorded, and not known yet')
  expect(await eventsOf(world, 'consent.changeRequested')).toHaveLength(1)
  // What a service says may tell of a person.
  const denied = { stream: pending ?? '', reason: 'asked' }
  expect((await post('consents/deny', denied)).text).toContain('Not done.</strong> 422</div>')
  expect((await post('consents/revoke', { ...fields, reason: 'x'.repeat(70_000) })).status).toBe(413)
  for (const type of ['multipart/form-data', 'multipart/form-data; boundary=x', 'text/plain']) {
    const headers = { cookie, origin, 'content-type': type }
    expect((await request('/act/reveal', { method: 'POST', headers, body: '--x' })).status).toBe(400)
  }
  expect(bugs).toEqual([])
})

test('states, rows, checks and changes are in the words of the page, not by the names of columns and codes', async () => {
  const { world } = await createReportedWorld()
  const { get } = consoleOf(world, { language: 'pt-BR' })
  const handled = /^(?!.*>(handled|parked|failing)<).*<option value="handled" selected>tratada<\/option>/s
  expect((await get('/notifications?state=handled')).text).toMatch(handled)
  expect((await get('/subscriptions')).text).toMatch(/<div>ativa</)
  const events = await Array.fromAsync(world.averba.log.read())
  for (const kind of ['subject', 'consent', 'validation', 'notification', 'subscription']) {
    const stream = events.find(event => event.stream.startsWith(`${kind}-`))?.stream
    const { text } = await get(`/stream/${stream}`)
    const row = /<dl class="data">(.*?)<\/dl>/s.exec(text)?.[1] ?? ''
    expect(row.match(/<dt>/g)?.length, kind).toBeGreaterThan(4)
    expect(row, kind).not.toMatch(/_|>(known|host|delivered|healthy|\[\]|not recorded|não consta)</)
  }
  const changed = /^(?!.*<div>[a-z]+_[a-z_]+<).*<div>Status<\/div><\/td><td data-label="Antes"><div>ativo<\/div>/s
  expect((await get('/compare?view=&a=20&b=40')).text).toMatch(changed)
  expect((await get('/')).text).toMatch(/^(?!.*<div>(store|erasures|followers)<).*<div>Eliminações<\/div>/s)
  expect((await get('/notifications')).text).toMatch(/^(?!.*não consta).*<div>recebida<\/div>/s)
  world.averba.notifications.handle('dimp-situacao-import', 'crm', () => Promise.reject(new TypeError('x')))
  await world.clock.finish(world.averba.settle())
  expect((await get('/notifications')).text).toMatch(/crm: falhando, até <time/)
})

test('text that others have named is shown as it is, also where it has the name of something of ours', async () => {
  const world = await openWorld()
  const ids = ['known', 'portal', 'constructor', '__proto__', 'a-b/1/2', '[]']
  for (const id of ids) await world.averba.validations.validate({ id, cpf: world.samples.cpf, claims: { nome: 'X' } })
  const { get } = consoleOf(world)
  const rows = await world.averba.views.selectFrom('validations').select(['id', 'validation']).execute()
  expect(rows.map(each => each.id).sort()).toEqual(ids.sort())
  for (const { id, validation } of rows)
    expect((await get(`/stream/${validation}`)).text).toContain(`<dt>Id</dt><dd>${id}</dd>`)
})

test('a validation in doubt is resolved with how it was found out, and an error says what helps', async () => {
  const world = await openWorld()
  await world.faults.add({ kind: 'lose', service: 'validationService', times: 1 })
  await world.averba.validations.validate({ id: 'order-1', cpf: world.samples.cpf, claims: { nome: 'X' } })
  const { get, post } = consoleOf(world, { actor: 'agent-7' })
  expect((await get('/effects')).text).toContain('<a href="/validations?state=inconclusive">Resolve</a>')
  const doubted = await world.averba.log.end()
  expect((await get('/validations?state=inconclusive')).text).toMatch(/not-charged".*<input name="note">/)
  await post('validations/not-charged', { id: 'order-1', note: 'not on the invoice' })
  const resolved = { state: 'resolved', resolved: { charged: false, note: 'not on the invoice' } }
  expect(await world.averba.validations.get('order-1')).toMatchObject(resolved)
  const correctable =
    /^(?!.*\/not-charged").*order-1.*resolved: the answer was lost; it was not charged<\/div>.*"\/act\/validations\/charged"/s
  expect((await get('/validations?state=resolved')).text).toMatch(correctable)
  // What a person does is done now: a past moment offers nothing.
  expect((await get(`/validations?known=${doubted}`)).text).not.toContain('method="post"')
  expect((await get(`/?known=${doubted}`)).text).toMatch(/answer was lost \(1\).*doubt that may have been paid: 1</s)
  await readConsent(world)
  const [consent] = await eventsOf(world, 'consent.appeared')
  expect((await get(`/prove?stream=${consent?.stream}&at=yesterday`)).text).toMatch(/INVALID_INPUT: .*<p class="soft">/)
})

test('the overview leads to the consents that it counts, the first to expire first, now and as they were', async () => {
  const world = await openWorld()
  vi.useFakeTimers({ toFake: ['Date'], now: world.clock.now() })
  onTestFinished(() => void vi.useRealTimers())
  for (const expiresInMs of [6, 2, 8, 4].map(days => days * 24 * hourMs))
    world.consentService.addConsent({ cpf: world.samples.cpf, cnpj: world.samples.cnpj, status: 'ATIVO', expiresInMs })
  await readConsent(world)
  const { get } = consoleOf(world)
  for (const page of ['/', `/?known=${await world.averba.log.end()}`]) {
    const [, to = ''] = /<a href="(\/consents[^"]+)"><span>[^<]+<\/span> <strong>3</.exec((await get(page)).text) ?? []
    const { text } = await get(to.replaceAll('&amp;', '&'))
    expect(text.match(/(?<=<time datetime="2026-11-)\d\d/g)).toEqual(['22', '24', '26'])
  }
})

test('calls are rebuilt from the log as the ledger has them, whatever becomes of them', async () => {
  const world = await openWorld()
  const { effects, log, consents, validations } = world.averba
  const shown = async (filter: { knownAt?: number }) =>
    (await effects.list(filter)).map(({ id, state, dueAt, waiting }) => ({ id, state, dueAt, why: waiting?.for }))
  const compare = async () => expect(await shown({ knownAt: await log.end() })).toEqual(await shown({}))
  const { subject } = await readConsent(world)
  await world.faults.add({ kind: 'lose', service: 'validationService', times: 1 })
  await validations.validate({ id: 'order-1', cpf: world.samples.cpf, claims: { nome: 'X' } })
  await world.faults.add({ kind: 'status', status: 429, service: 'consentService', times: 1 })
  const [pending] = await consents.list({ subject, status: 'PENDENTE' })
  const { effect } = await consents.approve({ subject, id: pending?.id ?? '' }, { reason: 'asked', evidence: {} })
  await compare()
  for (const act of ['park', 'retry', 'withdraw'] as const) await effects[act](effect).then(compare)
  await validations.resolve('order-1', { charged: false }).then(compare)
})

test('connections that send nothing keep the console from ending and a probe from its answer for seconds only', async () => {
  const { averba } = await openWorld()
  const shown = await serveConsole({ averba, language: 'en', port: 0, onBug: () => undefined })
  const probes = await serveStatus({ host: '127.0.0.1', port: 0 }, {})
  const ofProbes = `http://127.0.0.1:${probes.port}`
  for (const address of [shown.address, ofProbes]) {
    const silent = Array.from({ length: 100 }, () => connect(Number(new URL(address).port), '127.0.0.1').resume())
    const closed = silent.map(each => once(each, 'close'))
    await Promise.all(silent.map(each => once(each, 'connect')))
    await expect(fetch(address), address).rejects.toThrow('fetch failed')
    if (address !== ofProbes) await shown.close()
    await Promise.all(closed)
  }
  expect((await fetch(ofProbes)).status).toBe(404)
  await probes.close()
}, 20_000)
