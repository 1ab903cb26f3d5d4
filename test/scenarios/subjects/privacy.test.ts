import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { AverbaError, portalAccessKeys, type SubjectRef, valueOf } from '../../../src/index.ts'
import type { World } from '../../../src/simulation/index.ts'
import { answering } from '../../support/answers.ts'
import { eventsOf } from '../../support/events-of.ts'
import { isToken } from '../../support/open-validating.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

/** Values that may occur only at the services, in sealed parts and at the host. */
const canaries = {
  cpf: '25774435016',
  name: 'CANARIO DA SILVA',
  email: 'canario@exemplo.br',
  claim: 'CANARIO RECLAMADO',
  body: 'corpo-canario-4711',
  recipient: '52998224725',
  consumerKey: 'chave-de-exemplo',
  consumerSecret: 'segredo-de-exemplo',
  basic: 'Y2hhdmUtZGUtZXhlbXBsbzpzZWdyZWRvLWRlLWV4ZW1wbG8=',
  session: 'sessao-de-exemplo',
  chaveSecreta: 'chave-secreta-canario',
  chaveAutenticacao: 'Basic canario',
} as const

const asking = { actor: { kind: 'person', ref: 'a' }, purpose: 'auditoria' } as const

/** Everything that is written for others: a bundle, proofs, reports of a person and of an erased one, a receipt. */
async function showToOthers({ averba, clock }: World, subject: SubjectRef, id: string, dir: string) {
  const { audit, subjects } = averba
  const now = new Date(clock.now()).toISOString()
  const consent = { consent: { subject, id }, at: now, knownAt: now }
  const period = { from: '2000-01-01T00:00:00.000Z', until: now }
  const html = { format: 'html' } as const
  await audit.export(dir)
  const [validation] = await eventsOf({ averba }, 'validation.requested')
  const before: [string, string][] = [
    ['report', await subjects.report({ cpf: canaries.cpf })],
    ['page', await subjects.report({ cpf: canaries.cpf }, html)],
    ['consent proof', await audit.prove(consent)],
    ['consent page', await audit.prove(consent, html)],
    ['event proof', await audit.prove(2)],
    // Only for readers with a verifier.
    ['disclosure', await audit.disclose(validation?.id ?? '', asking)],
    ['processing', await audit.processingReport(period)],
    ['processing page', await audit.processingReport(period, html)],
  ]
  const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }
  const receipt = await subjects.erase({ cpf: canaries.cpf }, asked)
  return [
    ...before,
    ['receipt', JSON.stringify(receipt)],
    ['report of who was erased', await subjects.report({ subject })],
    ['page of who was erased', await subjects.report({ subject }, html)],
  ] as const
}

test('files, log, views, log lines and errors hold no personal data and no secret', async () => {
  const folder = temporaryFolder()
  const { chaveSecreta, chaveAutenticacao } = canaries
  const tokens: string[] = []
  const world = await openWorld({
    intercept: answering(isToken, async (request, forward) => {
      const response = await forward(request)
      tokens.push((await response.clone().json()).access_token)
      return response
    }),
    averba: {
      store: join(folder, 'log.sqlite'),
      recordKeys: ['validation', 'consent', 'notification', 'portal', 'subject', 'subscription'],
      subscriptions: [{ evento: 'e', chaveSecreta, chaveAutenticacao }],
    },
  })
  const { averba, consentService, lines } = world
  const titular = { cpf: canaries.cpf, nome: canaries.name, email: canaries.email }
  const remoteId = consentService.addConsent({ cpf: canaries.cpf, titular })
  const subject = await averba.consents.enrol({ cpf: canaries.cpf })
  const outcomes: unknown[] = [await averba.consents.sync({ subject })]
  expect((await averba.consents.get({ subject, id: remoteId }))?.titular?.nome).toBe(canaries.name)
  const input = { id: 'p1', cpf: canaries.cpf, claims: { nome: canaries.claim } }
  outcomes.push(await averba.validations.validate(input))
  outcomes.push(...(await averba.subscriptions.apply(await averba.subscriptions.plan())))
  const person = { destinatarioTipo: 'CPF', destinatarioId: canaries.recipient } as const
  await world.portal.notify({ evento: 'e', ...person, body: { x: canaries.body } })
  await world.portal.notify({ evento: 'e', ...person, body: canaries.body + 'x'.repeat(1_100_000) })
  expect((await averba.subscriptions.failures())[0]?.conteudo).toContain(canaries.body)
  const errors = await Promise.all([
    averba.consents.enrol({ cpf: '25774435017' }).catch(error => error),
    averba.consents.approve({ cpf: canaries.cpf, id: 'x' }).catch(error => error),
    averba.consents.list({ cpf: canaries.recipient.replace(/.$/, '0') }).catch(error => error),
    averba.validations.validate({ ...input, id: canaries.cpf }).catch(error => error),
    averba.validations.validate({ ...input, id: 'p2', claims: { nome: 7 } as never }).catch(error => error),
  ])
  for (const error of errors) expect(error).toBeInstanceOf(AverbaError)

  const events = await Array.fromAsync(averba.log.read())
  const rows: unknown[] = [await averba.effects.list()]
  for (const view of ['consents', 'subjects', 'validations', 'notifications', 'failures', 'tokens'] as const) {
    const found = await averba.views.selectFrom(view).selectAll().execute()
    expect(found.length, view).toBeGreaterThan(0)
    rows.push(found)
  }
  const shown = await showToOthers(world, subject, remoteId, join(folder, 'bundle'))
  await world.close()

  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ name, parentPath }) => [name, readFileSync(join(parentPath, name), 'latin1')] as const)
  expect(files.map(([name]) => name)).toEqual(expect.arrayContaining(['log.sqlite', 'log.sqlite.keys', 'parts.ndjson']))
  const haystacks = new Map<string, string>([
    ...files,
    ['events', inspect(events, { depth: null })],
    ['rows', inspect(rows, { depth: null })],
    ['lines', inspect(lines, { depth: null })],
    ['errors', inspect(errors, { depth: null, showHidden: true })],
    ...shown,
    ['outcomes', inspect(outcomes, { depth: null })],
  ])
  expect(tokens).toHaveLength(1)
  const secrets = [...Object.entries(canaries), ...tokens.map(token => ['token', token] as const)]
  const encodings = ['utf8', 'base64', 'hex'] as const
  const leaks = [...haystacks].flatMap(([place, text]) =>
    secrets
      .filter(([, canary]) => encodings.some(encoding => text.includes(Buffer.from(canary).toString(encoding))))
      .map(([name]) => `${name} in ${place}`),
  )
  expect(leaks).toEqual([])
  // The scan works: it finds what is stored in clear on purpose.
  expect([...haystacks.values()].some(text => text.includes('https://receptor.exemplo.br/averba'))).toBe(true)
})

test('what a service quotes from its request is neither stored nor shown', async () => {
  const sent = new Set<string>()
  const { chaveSecreta, chaveAutenticacao } = canaries
  const clientSecret = 'chave-de-acesso-canario'
  let isOpen = true
  const world = await openWorld({
    policies: { portal: { authentication: 'session' } },
    averba: {
      subscriptions: [{ evento: 'e', chaveSecreta, chaveAutenticacao }],
      portal: {
        baseUrl: 'https://portal.exemplo.br',
        authenticate: portalAccessKeys({ clientId: 'cliente-canario', clientSecret, roleType: 'IMPEXP' }),
      },
    },
    async intercept(request, forward) {
      const { pathname } = new URL(request.url)
      const isRefused = /validate\/pf|consentimentos/.test(pathname) || request.method === 'POST'
      if (!isRefused || isOpen || pathname.endsWith('/token')) return forward(request)
      const values = [...request.headers].flatMap(([name, value]) => (/^(accept|content-)/.test(name) ? [] : value))
      const body = await request.text()
      for (const value of values) sent.add(value.replace(/^Bearer /, ''))
      const code = values[0]?.replace('Bearer ', '')
      const quoted = { code, detail: values.join(), type: `${request.url}#${body}` }
      const status = body.includes('CANARIO DUVIDA') ? 502 : 422
      return Response.json({ ...quoted, title: body === '' ? pathname : body }, { status })
    },
  })
  const { averba, lines } = world
  const subject = await averba.consents.enrol({ cpf: canaries.cpf })
  isOpen = false
  // First the login is refused, then the registration.
  const barred = await averba.subscriptions.plan().catch(error => error)
  await world.clock.advance(120_000)
  isOpen = true
  const plan = await averba.subscriptions.plan()
  isOpen = false
  const validate = (id: string, nome: string) =>
    averba.validations.validate({ id, cpf: canaries.cpf, claims: { nome } })
  const outcomes = [
    await averba.consents.sync({ subject }),
    await validate('v1', canaries.claim),
    await validate('v2', 'CANARIO DUVIDA'),
    ...(await averba.subscriptions.apply(plan)),
  ]
  expect(outcomes.map(each => each.status)).toEqual(['declined', 'declined', 'unknown', 'declined'])
  const errors = await Promise.all(
    outcomes.map(async each => valueOf<unknown>(each)).map(each => each.catch(error => error)),
  )
  const events = await Array.fromAsync(averba.log.read())
  const answers = events.flatMap(({ id, parts = [] }) => parts.map(({ name }) => ({ part: `${id}/${name}` })))
  const opened: unknown[] = []
  for (const { part } of answers)
    if (/\/(problem|unreadable)$/.test(part)) opened.push(await averba.subjects.reveal({ part }, asking))
  expect(opened).toHaveLength(4)
  const effects = await averba.effects.list()
  await world.close()

  expect(sent.size).toBeGreaterThan(2)
  const secrets = [...sent, chaveSecreta, chaveAutenticacao, clientSecret, 'cliente-canario', canaries.cpf]
  const shown = { outcomes, errors, events, opened, lines, effects, barred }
  const leaks = Object.entries(shown).flatMap(([place, value]) => {
    const text = inspect(value, { depth: null, showHidden: true, maxStringLength: null })
    return secrets.filter(secret => text.includes(secret)).map(secret => `${secret} in ${place}`)
  })
  expect(leaks).toEqual([])
  // The text of the service is in the outcome, and not in the message.
  expect(inspect(outcomes, { depth: null })).toContain(canaries.claim)
  expect(errors.map(error => (error as Error).message).join()).not.toMatch(/CANARIO/)
})
