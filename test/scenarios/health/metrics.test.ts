import { expect, test } from 'vitest'
import { newestReading, oldestReading, overdueReadings } from '../../../src/api/consents/freshness.ts'
import { createMetrics } from '../../../src/cli/metrics.ts'
import type { AverbaOptions } from '../../../src/index.ts'
import { samples, type World } from '../../../src/simulation/index.ts'
import { views } from '../../../src/views/views.ts'
import { dayMs, hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openWorld } from '../../support/world.ts'

/** Values that may occur only at the services, in sealed parts and at the host. */
const canaries = {
  cpf: samples.cpf,
  name: 'CANARIO DA SILVA',
  claim: 'CANARIO RECLAMADO',
  validation: 'id-canario',
  reason: 'motivo-canario',
  evento: 'evento-canario',
  handler: 'leitor-canario',
  follower: 'seguidor-canario',
  body: 'corpo-canario-4711',
  recipient: '52998224725',
  consumerKey: 'chave-de-exemplo',
  consumerSecret: 'segredo-de-exemplo',
  session: 'sessao-de-exemplo',
  chaveSecreta: 'chave-secreta-canario',
} as const
/** Names from the host's code that are in the log: log lines may contain them, labels may not. */
const hostNames = ['evento', 'handler', 'follower']

async function given(averba: Partial<AverbaOptions> = {}) {
  const subscriptions = [{ evento: canaries.evento, chaveSecreta: canaries.chaveSecreta }]
  const world = await openWorld({ averba: { subscriptions, ...averba } })
  const metrics = createMetrics(world.averba, world.clock)
  /** The value of each sample, by its name with its labels. */
  const samplesOf = async () => {
    const found = (await metrics.scrape()).matchAll(/^(averba_\w+(?:\{[^}]*\})?) (\S+)$/gm)
    return new Map([...found].map(([, name = '', value = '']) => [name, Number(value)]))
  }
  return { world, metrics, lines: world.lines, samplesOf }
}

const person = { destinatarioTipo: 'CPF', destinatarioId: canaries.recipient } as const

async function walk({ averba, portal, consentService }: World): Promise<void> {
  const titular = { cpf: canaries.cpf, nome: canaries.name, email: 'canario@exemplo.br' }
  const remoteId = consentService.addConsent({ cpf: canaries.cpf, titular })
  const fail = () => Promise.reject(new Error(canaries.body))
  averba.notifications.handle(canaries.evento, canaries.handler, fail)
  averba.log.follow(canaries.follower, ['subject.enrolled'], fail)
  const subject = await averba.consents.enrol({ cpf: canaries.cpf }, { syncEveryMs: hourMs })
  await averba.settle()
  await averba.consents.approve({ subject, id: remoteId }, { reason: canaries.reason })
  const claims = { nome: canaries.claim }
  await averba.validations.validate({ id: canaries.validation, cpf: canaries.cpf, claims })
  await applyPlan(averba)
  const notice = { evento: canaries.evento, ...person, body: { x: canaries.body } }
  for (let i = 0; i < 2; i++) await portal.notify(notice)
  await averba.settle()
}

test('metrics count what was done and show the current state', async () => {
  const { world, samplesOf } = await given()
  await walk(world)
  await world.averba.subscriptions.plan() // Lists when each last worked.
  await world.clock.advance(minuteMs)
  const refused = new Request('https://receptor.exemplo.br/averba', { method: 'POST', body: '{}' })
  await world.averba.receiver.fetch(refused, { remoteAddress: '203.0.113.7' })
  const shown = await samplesOf()
  const value = (name: string) => shown.get(`averba_${name}`)
  expect(value('attempts_total{operation="validationService.validatePerson",outcome="settled"}')).toBe(1)
  expect(value('attempts_total{operation="consentService.changeStatus",outcome="settled"}')).toBe(1)
  expect(value('events_total{machine="validation"}')).toBe(2)
  for (const how of ['received', 'copied']) expect(value(`notifications_received_total{how="${how}"}`)).toBe(1)
  expect(value('notification_answer_seconds_count{status="200"}')).toBe(2)
  expect(value('notification_answer_seconds_count{status="403"}')).toBe(1)
  expect(value('effects{service="consentService",class="read",state="pending"}')).toBe(1)
  for (const what of ['commands', 'facts'])
    expect([value(`under_way{what="${what}"}`), value(`under_way_max{what="${what}"}`)], what).toEqual([0, 10_000])
  // The handler has failed for the notification, and its copy followed.
  expect(value('followers_lag_events')).toBeGreaterThan(0)
  expect(value('view_lag_events{view="consents"}')).toBe(0)
  for (const age of ['reading', 'delivery_success']) expect(value(`${age}_age_seconds`)).toBe(60)
  expect(value('reading_age_oldest_seconds')).toBe(60)
  expect(value('commit_seconds_count')).toBeGreaterThan(10)
  for (const name of ['check_ok{check="writing"}', 'ready', 'token_requests_total']) expect(value(name)).toBe(1)
  expect(value('log_position')).toBe((await Array.fromAsync(world.averba.log.read())).length)
})

test('parked, deferred and uncertain calls are shown by service and class, ended ones are not', async () => {
  const { world, samplesOf } = await given()
  const { averba, faults } = world
  for (const service of ['validationService', 'consentService'] as const)
    await faults.add({ kind: 'status', status: 503, service })
  await averba.validations.validate({ id: 'v1', cpf: samples.cpf, claims: { nome: 'X' } })
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const { effect } = await averba.consents.sync({ subject })
  const of = async (labels: string) => (await samplesOf()).get(`averba_effects{${labels}}`)
  const read = (state: string) => `service="consentService",class="read",state="${state}"`
  expect(await of('service="validationService",class="once",state="unknown"')).toBe(1)
  expect(await of(read('deferred'))).toBe(1)
  await averba.effects.park(effect)
  expect(await of(read('parked'))).toBe(1)
  expect(await of(read('deferred'))).toBeUndefined()
})

test('a follower that has handled what is its own is not behind, whatever else follows', async () => {
  const { world, samplesOf } = await given()
  const { averba } = world
  averba.log.follow('enrolments', ['subject.enrolled'], async () => undefined)
  averba.notifications.handle(canaries.evento, 'crm', async () => undefined)
  const lag = async () => (await samplesOf()).get('averba_followers_lag_events')
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.settle()
  await averba.consents.sync({ subject })
  expect(await lag()).toBe(0)
  await averba.consents.enrol({ cpf: '52998224725' })
  expect(await lag()).toBe(1)
})

test('notifications that failed in a handler are shown, with retries and parked ones apart', async () => {
  const { world, samplesOf } = await given()
  await walk(world)
  const shown = async (state: string) => (await samplesOf()).get(`averba_notifications{state="${state}"}`)
  expect([await shown('failing'), await shown('parked')]).toEqual([1, 0])
  await passTime(world, 15 * minuteMs, 12)
  expect([await shown('failing'), await shown('parked')]).toEqual([0, 1])
})

test('there is an age of readings once there are any; it comes from an index, for any number of subjects', async () => {
  const store = temporaryStore()
  const { world, samplesOf } = await given({ store })
  const ages = async () => [...(await samplesOf()).keys()].filter(name => name.includes('reading_age'))
  expect(await ages()).toEqual([])
  const { averba, clock, samples } = world
  const readings = async () => (await averba.figures()).readings
  const at = () => new Date(clock.now()).toISOString()
  const first = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.consents.sync({ subject: first })
  const readAt = at()
  await clock.advance(minuteMs)
  const second = await averba.consents.enrol({ cpf: canaries.recipient })
  const secondAt = at()
  expect(await readings()).toEqual({ newestAt: readAt, oldestAt: null })
  expect(await ages()).toEqual(['averba_reading_age_seconds'])
  await averba.consents.schedule({ subject: second }, { syncEveryMs: dayMs })
  expect(await readings()).toEqual({ newestAt: readAt, oldestAt: secondAt })
  expect(await ages()).toEqual(['averba_reading_age_seconds', 'averba_reading_age_oldest_seconds'])
  await averba.consents.schedule({ subject: first }, { syncEveryMs: dayMs })
  expect(await readings()).toEqual({ newestAt: readAt, oldestAt: readAt })
  await clock.advance(minuteMs)
  await averba.consents.sync({ subject: first })
  expect(await readings()).toEqual({ newestAt: at(), oldestAt: secondAt })
  await averba.consents.schedule({ subject: second }, { syncEveryMs: null })
  expect(await readings()).toEqual({ newestAt: at(), oldestAt: at() })
  const { views } = averba
  const steps = [newestReading(views), oldestReading(views), overdueReadings(views, at())].flatMap(ask => {
    const { sql, parameters } = ask.compile()
    return useDatabase(store, file => file.rows<{ detail: string }>(`explain query plan ${sql}`, ...parameters))
  })
  const indices = ['subjects_synced_at', 'subjects_awaiting_since', 'subjects_overdue_at']
  const searches = indices.map(index => `^SEARCH subjects USING COVERING INDEX ${index}`)
  expect(steps).toMatchObject(searches.map(search => ({ detail: expect.stringMatching(search) })))
})

test('metrics, health, figures and log lines hold no personal data, secrets or host names', async () => {
  const { world, metrics, lines } = await given({ schedules: true })
  await walk(world)
  const { averba } = world
  await passTime(world, 10 * minuteMs, 20)
  const outputs = {
    metrics: await metrics.scrape(),
    figures: JSON.stringify(await averba.figures()),
    health: JSON.stringify(await averba.health({ reach: true })),
    lines: JSON.stringify(lines),
  }
  // The scan works: handler and follower were parked, and a line names them.
  expect(outputs.lines).toContain(canaries.follower)
  expect(outputs.lines).toContain(canaries.handler)
  const leaks = Object.entries(outputs).flatMap(([place, text]) =>
    Object.entries(canaries)
      .filter(([name]) => !(hostNames.includes(name) && ['lines', 'health'].includes(place)))
      .filter(([, canary]) => text.includes(canary))
      .map(([name]) => `${name} in ${place}`),
  )
  expect(leaks).toEqual([])

  // Every label has values of a closed set.
  const services = 'consentService|tokenService|validationService|portal|other'
  const closed: Record<string, RegExp> = {
    operation: new RegExp(`^(${services})\\.[a-zA-Z]+$`),
    service: new RegExp(`^(${services})$`),
    outcome: /^(settled|declined|deferred|unknown)$/,
    state: /^(pending|started|deferred|parked|unknown|failing)$/,
    class: /^(read|idempotent|probed|once|other)$/,
    machine: /^(log|budget|certificate|consent|effect|notification|portal|subject|subscription|token|validation)$/,
    what: /^(commands|facts)$/,
    how: /^(received|copied|recovered)$/,
    status: /^\d{3}$/,
    view: new RegExp(`^(${views.map(view => view.name).join('|')})$`),
    check: /^[a-zA-Z]+$/,
    certificate: /^(certificate|portalCertificate)$/,
    le: /^(\+Inf|[\d.]+)$/,
  }
  const labelled = [...outputs.metrics.matchAll(/^averba_\w+\{(.*)\} \S+$/gm)]
  const labels = labelled.flatMap(([, all = '']) => [...all.matchAll(/(\w+)="([^"]*)"/g)])
  expect(new Set(labels.map(([, name]) => name)).size).toBeGreaterThan(8)
  const strange = labels.filter(([, name = '', value = '']) => !closed[name]?.test(value))
  expect(strange.map(([whole]) => whole)).toEqual([])
})
