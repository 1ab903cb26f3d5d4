import { expect, test } from 'vitest'
import { type AverbaOptions, staticHeaders } from '../../../src/index.ts'
import type { World, WorldOptions } from '../../../src/simulation/index.ts'
import { lose } from '../../scenarios/subscriptions/story.ts'
import { averba, failedWith, startCommand } from '../../support/command-line.ts'
import { configFile } from '../../support/config-file.ts'
import { eventsOf } from '../../support/events-of.ts'
import { readConsent } from '../../support/given-consent.ts'
import { isToken, validate } from '../../support/open-validating.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const by = ['--actor', 'agent-7']
const receiver = {
  publicUrl: 'https://receptor.exemplo.br/averba',
  secretFrom: 'segredo-mestre-de-exemplo-com-tamanho',
}
const actor = { kind: 'person', ref: 'agent-7' }

/** A world on a file, whose engine runs while commands work on the same file. Its services can go down. */
async function openOnFile(options: WorldOptions = {}) {
  const store = temporaryStore()
  let isDown = false
  const world = await openWorld({
    ...options,
    averba: { store, ...options.averba },
    intercept: async (request, forward) =>
      isDown && !isToken(request)
        ? Response.json({}, { status: 429, headers: { 'retry-after': '3600' } })
        : forward(request),
  })
  const setDown = (down: boolean) => {
    isDown = down
  }
  return { world, store, setDown, of: ['--store', store] }
}

/** A configuration of the same log and the same services, as an operator has it. */
function configOf({ clock, reach }: World, store: string, more: Partial<AverbaOptions> = {}) {
  const reachAny = (request: Request) =>
    request.url.includes('/portal/')
      ? reach.portal(request)
      : reach.consentService(request, { clientName: 'gestora-de-exemplo' })
  const file = configFile({
    ...{ store, clock, fetch: reachAny },
    consentService: { baseUrl: 'https://consentimento.exemplo.br', certificate: { cert: '', key: '' } },
    portal: {
      baseUrl: 'https://portal.exemplo.br',
      authenticate: staticHeaders({ authorization: 'sessao-de-exemplo' }),
    },
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    ...more,
  })
  return ['--config', file]
}

const parse = ({ out }: { out: string }) => JSON.parse(out)

test('a stuck call is found, explained, released, parked and given up, while another process runs', async () => {
  const { world, of, setDown } = await openOnFile()
  setDown(true)
  const { effect } = await validate(world.averba, 'order-1')
  const { effect: other } = await validate(world.averba, 'order-2')
  const listed = await averba('effects', 'list', ...of)
  expect(listed.code).toBe(0)
  expect(listed.out).toMatch(/^ID +CALL +STATE +WHY, UNTIL WHEN, WHAT TO DO\n/)
  expect(listed.out).toMatch(
    new RegExp(
      `${effect} +validationService.validatePerson +deferred +for a process that .*: the validation service answered 429 \\[retry, park`,
    ),
  )
  const { out: validations } = await averba('validations', 'list', ...of)
  const { validations: rows } = parse(await averba('validations', 'list', '--json', ...of))
  const { calls } = parse(await averba('effects', 'list', '--json', ...of))
  expect(rows).toMatchObject([{ id: 'order-2' }, { id: 'order-1' }])
  expect(rows.at(-1).call).toEqual(calls.find(({ id }: { id: string }) => id === effect))
  expect(validations).toMatch(new RegExp(`order-1 +requested +\\S+Z +${effect}: for a process that .* \\[retry, park`))
  const shown = await averba('effects', 'show', effect, ...of)
  expect(shown.out).toMatch(/validatePerson\nstate +deferred\nwaits +for a process that /)
  expect(shown.out).not.toContain('Maria')

  // Without --actor nobody would be accountable.
  expect(await averba('effects', 'park', effect, ...of)).toMatchObject(failedWith("required option '--actor <ref>'"))
  expect(await averba('effects', 'park', ...by, ...of)).toMatchObject(failedWith('neither ids nor what selects'))
  const found = await averba('effects', 'park', '--service', 'validationService', '--dry-run', ...by, ...of)
  expect(found).toMatchObject({ code: 0, out: expect.stringContaining('2 calls: 2 found.\nNothing was done.') })
  expect(await averba('effects', 'park', '--service', 'validationService', ...by, ...of)).toMatchObject({
    code: 0,
    out: `accepted  ${effect}\naccepted  ${other}\n2 calls: 2 accepted.\n`,
  })
  const again = await averba('effects', 'park', effect, 'x/1/0', '--json', ...by, ...of)
  expect(again.code).toBe(1)
  expect(parse(again).done).toMatchObject([{ code: 'REFUSED' }, { code: 'NOT_FOUND' }])
  // Ids and filters together could be read both ways, and a dry run looks each one up.
  expect(await averba('effects', 'park', effect, '--service', 'portal', ...by, ...of)).toMatchObject(
    failedWith('Cannot use --service with ids'),
  )
  expect(await averba('effects', 'retry', effect, 'x/1/0', '--dry-run', ...by, ...of)).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^found {2}\S+\nfailed {2}x\/1\/0 {2}NOT_FOUND: /),
  })

  setDown(false)
  await averba('effects', 'retry', effect, ...by, ...of)
  // The processes of a host know their services: this command has no configuration.
  expect(await averba('effects', 'withdraw', other, ...by, ...of)).toMatchObject({ code: 1 })
  await world.averba.effects.withdraw(other)
  await passTime(world, hourMs)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'settled' })
  expect(await averba('effects', 'list', ...of)).toMatchObject({ code: 0, out: 'No calls.\n' })
  expect(await eventsOf(world, 'effect.parked', 'effect.resumed')).toMatchObject([{ actor }, { actor }, { actor }])
  expect(parse(await averba('effects', 'list', '--state', 'settled', '--limit', '1', '--json', ...of)).more).toBe(true)
  expect(await averba('effects', 'list', '--state', 'opened', ...of)).toMatchObject(failedWith('Allowed choices are'))
  // What one types is the same in every language.
  const typed = 'Valores possíveis: open, pending, started, deferred, parked, unknown, settled, declined, cancelled.'
  expect(await averba('effects', 'list', '--state', 'aberta', '--lang', 'pt-BR')).toMatchObject(failedWith(typed))
})

test('a parked notification is found, read with a record of who read it, and handled again', async () => {
  const { world, of } = await openOnFile({ averba: { subscriptions: [{ evento, chaveSecreta: 'chave-secreta-um' }] } })
  const { portal, samples } = world
  let isBroken = true
  world.averba.notifications.handle(evento, 'erp', async () => {
    if (isBroken) throw new Error('the ERP is down')
  })
  await applyPlan(world.averba)
  const body = { numero: '26BR0001' }
  await portal.notify({ evento, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body })
  await passTime(world, 60_000)
  const failing = await averba('notifications', 'list', ...of)
  expect(failing.out).toMatch(/ +failing +\S+Z +erp: failing \(1 attempt\), again at \S+Z \(/)
  const asked = await averba('notifications', 'replay', '--dry-run', ...by, ...of)
  expect(asked.out).toMatch(/\n1 notification: 1 found\.\nNothing was done\.\n$/)
  await passTime(world, hourMs, 12)
  const listed = await averba('notifications', 'list', '--state', 'parked', ...of)
  expect(listed.out).toMatch(/ +parked +\S+Z +erp: parked \[replay, skip\]\n$/)
  const [{ id }] = parse(await averba('notifications', 'list', '--json', ...of)).notifications
  const sealed = await averba('notifications', 'show', id, ...of)
  expect(sealed.out).toContain('sealed: --data shows it')
  expect(sealed.out).not.toContain('26BR0001')
  expect(await averba('notifications', 'show', id, '--data', ...of)).toMatchObject(failedWith('--actor is missing'))
  expect(await averba('notifications', 'show', id, '--purpose', 'p', ...of)).toMatchObject(
    failedWith('Cannot use --purpose'),
  )
  const opened = await averba('notifications', 'show', id, '--data', '--purpose', 'ticket 12', ...by, ...of)
  expect(opened.out).toContain('{"numero":"26BR0001"}')
  expect(await eventsOf(world, 'reveal.recorded')).toMatchObject([{ actor, data: { purpose: 'ticket 12' } }])
  expect(await averba('notifications', 'show', 'none', ...of)).toMatchObject(failedWith('NOT_FOUND'))

  isBroken = false
  const replayed = await averba('notifications', 'replay', '--evento', evento, ...by, ...of)
  expect(replayed).toMatchObject({ code: 0, out: `accepted  ${id}\n1 notification: 1 accepted.\n` })
  await passTime(world, hourMs)
  expect(parse(await averba('notifications', 'list', '--json', ...of)).notifications).toMatchObject([
    { state: 'handled' },
  ])
  expect(await averba('notifications', 'replay', ...by, ...of)).toMatchObject({ code: 0, out: 'Nothing was found.\n' })
})

test('a follower that nobody runs is removed, and a notification is skipped', async () => {
  const { world, of } = await openOnFile({ averba: { subscriptions: [{ evento, chaveSecreta: 'chave-secreta-um' }] } })
  world.averba.notifications.handle(evento, 'erp', async () => {
    throw new Error('the ERP is down')
  })
  await applyPlan(world.averba)
  const delivery = { evento, destinatarioTipo: 'CNPJ', destinatarioId: world.samples.cnpj, body: {} } as const
  await world.portal.notify(delivery)
  await passTime(world, hourMs, 14)
  const name = `notifications/${evento}/erp`
  expect(await averba('followers', 'remove', name, ...by, ...of)).toMatchObject({ code: 1 })
  await world.restart()
  await world.portal.notify({ ...delivery, body: { n: 2 } })
  // The commands run days later.
  const status = await averba('status', ...of)
  expect(status.out).toContain(
    `WRONG followers: no process has run ${name} for a day: run it, or use averba followers remove`,
  )
  expect((await averba('followers', 'list', ...of)).out).toMatch(
    /an event waits since 2026-11-2\S+ for a process that runs it/,
  )
  expect(await averba('followers', 'remove', name, ...by, ...of)).toMatchObject({
    code: 0,
    out: `accepted  ${name}\n1 follower: 1 accepted.\n`,
  })
  expect(await averba('followers', 'list', ...of)).toMatchObject({ code: 0, out: 'No followers.\n' })

  const [{ id }] = parse(await averba('notifications', 'list', '--state', 'parked', '--json', ...of)).notifications
  expect(await averba('notifications', 'skip', `notification-${id}`, ...by, ...of)).toMatchObject({
    code: 0,
    out: `accepted  notification-${id}\n1 notification: 1 accepted.\n`,
  })
  expect((await averba('notifications', 'list', ...of)).out).toMatch(/ +handled +\S+Z +erp: skipped\n/)
})

test('a parked follower tries again, or skips with a record of who decided it', async () => {
  const { world, of } = await openOnFile()
  world.averba.log.follow('erp', ['subject.enrolled'], async () => {
    throw new Error('the ERP is down')
  })
  await world.averba.consents.enrol({ cpf: world.samples.cpf })
  await passTime(world, dayMs, 14)
  const { out } = await averba('followers', 'list', ...of)
  expect(out).toMatch(/^NAME +POSITION .*\nerp +\d+ +parked at the event \d+: .* \[retry, skip\]\n$/)
  expect(await averba('followers', 'retry', 'erp', 'other', ...by, ...of)).toMatchObject({
    code: 1,
    out: expect.stringMatching(/^accepted {2}erp\nfailed {2}other {2}NOT_FOUND: /),
  })
  await passTime(world, dayMs, 14)
  expect((await averba('followers', 'skip', 'erp', ...by, ...of)).out).toMatch(/^erp skips the event at \d+\.\n$/)
  expect(await eventsOf(world, 'follower.retryRequested', 'follower.skipRequested')).toMatchObject([
    { type: 'follower.retryRequested', actor, data: { follower: 'erp' } },
    { type: 'follower.skipRequested', actor },
  ])
})

test('a validation that may have been paid is shown by status and by its list, and resolved', async () => {
  const store = temporaryStore()
  let isLost = true
  const world = await openWorld({
    averba: { store },
    intercept: async (request, forward) => {
      if (isToken(request) || !isLost) return forward(request)
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) })
    },
  })
  const of = ['--store', store]
  expect(await validate(world.averba, 'order-1')).toMatchObject({ status: 'unknown' })
  isLost = false
  expect(await averba('status', ...of)).toMatchObject({
    code: 2,
    out: expect.stringContaining('1 validation may have been done and paid. See: averba validations list'),
  })
  expect((await averba('effects', 'list', ...of)).out).toContain(': the connection broke (ECONNRESET)')
  const listed = await averba('validations', 'list', '--state', 'inconclusive', ...of)
  expect(listed.out).toMatch(
    /order-1 +inconclusive +\S+Z +perhaps done and paid, with the trace id \w{26}: find out \[resolve\]\n$/,
  )
  const resolve = ['validations', 'resolve', 'order-1', ...by, ...of]
  expect(await averba(...resolve)).toMatchObject(failedWith('give either --charged or --not-charged'))
  for (const [verdict, words] of [
    ['--charged', 'charged'],
    ['--not-charged', 'not charged.\nIt had been recorded otherwise before: the log keeps both'],
  ] as const)
    expect(await averba(...resolve, verdict)).toMatchObject({ code: 0, out: `order-1: recorded as ${words}.\n` })
  expect(parse(await averba('validations', 'list', '--json', ...of)).validations).toMatchObject([
    { id: 'order-1', charged: false, traceId: expect.stringMatching(/^\w{26}$/) },
  ])
  expect(await averba('status', ...of)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/Nothing needs a person\.\n$/),
  })
})

test('consents are listed, read and decided on: one, or all of a controller', async () => {
  const { world, store, of, setDown } = await openOnFile()
  const { subject, which } = await readConsent(world, 'ATIVO')
  const config = configOf(world, store)
  const { consents } = parse(await averba('consents', 'list', '--status', 'ATIVO', '--json', ...of))
  expect(consents.map((each: { subject: string }) => each.subject)).toEqual([subject, subject])
  const [{ controller }] = consents
  expect((await averba('consents', 'list', ...of)).out).toMatch(/ATIVO +\w{14} +expires \S+Z\n/)
  // A status alone would be that of everybody.
  for (const selected of [[], ['--status', 'ATIVO']])
    expect(await averba('consents', 'revoke', ...selected, '--reason', 'x', ...by, ...config)).toMatchObject(
      failedWith('it is not said whose'),
    )
  const unknown = await averba('consents', 'revoke', 'nope', '--reason', 'x', ...by, ...config)
  expect(unknown.out).toMatch(/nope +NOT_FOUND: .*no reading has shown it/)
  const decided = ['--controller', controller, '--status', 'ATIVO', '--reason', 'the controller left', ...by, ...config]
  expect(await averba('consents', 'revoke', ...decided)).toMatchObject({
    code: 0,
    out: expect.stringContaining('1 consent: 1 done.'),
  })
  expect(await eventsOf(world, 'consent.revoked')).toHaveLength(1)
  expect(await averba('consents', 'sync', '--controller', controller, ...config)).toMatchObject({
    code: 0,
    out: `done  ${subject}\n1 subject: 1 done.\n`,
  })

  // One that was never read has no rows yet.
  const fresh = await world.averba.consents.enrol({ cpf: '52998224725' })
  expect(await averba('consents', 'sync', '--subject', fresh, ...config)).toMatchObject({
    code: 0,
    out: `done  ${fresh}\n1 subject: 1 done.\n`,
  })
  expect(await averba('consents', 'sync', '--subject', 'nobody', ...config)).toMatchObject({
    code: 1,
    out: expect.stringContaining('NOT_FOUND'),
  })

  // A revocation that cannot be made is wanted until somebody gives it up.
  const [left] = await world.averba.consents.list({ subject, status: 'ATIVO' })
  setDown(true)
  await world.averba.consents.revoke({ subject, id: left?.id ?? which.id })
  const ends = await averba('consents', 'list', '--ends', ...of)
  expect(ends.out).toMatch(/its end is wanted since \S+Z \[revoke, withdraw-end\]\n$/)
  const [, stream = ''] = /^(consent-\S+)/m.exec(ends.out) ?? []
  const givenUp = await averba('consents', 'withdraw-end', stream, '--reason', 'by mistake', ...by, ...config)
  expect(givenUp).toMatchObject({ code: 0 })
  expect(await averba('consents', 'list', '--ends', ...of)).toMatchObject({ out: 'No consents.\n' })
  const enrolled = await averba('consents', 'withdraw-end', stream, '--reason', 'again', ...by, ...config)
  expect(enrolled).toMatchObject({ code: 1, out: expect.stringContaining('REFUSED') })

  // What is recorded, and goes out when the service answers again, is neither done nor failed.
  const busy = async () => Response.json({}, { status: 429, headers: { 'retry-after': '3600' } })
  const other = [
    '--subject',
    subject,
    '--status',
    'ATIVO',
    '--reason',
    'x',
    ...by,
    ...configOf(world, store, { fetch: busy }),
  ]
  const waiting = await averba('consents', 'revoke', ...other)
  expect(waiting).toMatchObject({
    code: 2,
    out: expect.stringMatching(/^recorded {2}consent-\S+ {2}not done yet, tried again at .*\n1 consent: 1 recorded/),
  })
})

test('subscriptions are listed with the day of their deletion, rotated and recovered', async () => {
  const { world, store, of } = await openOnFile({ averba: { subscriptions: [{ evento }], receiver } })
  await applyPlan(world.averba)
  const config = configOf(world, store, { subscriptions: [{ evento }], receiver })
  expect((await averba('subscriptions', 'list', ...of)).out).toMatch(/dimp-situacao-import +active +healthy +https:/)
  expect(await averba('subscriptions', 'rotate', evento, ...by, ...config)).toMatchObject({
    code: 0,
    out: `${evento}: done.\n`,
  })
  expect(await eventsOf(world, 'subscription.rotationRequested')).toMatchObject([{ actor }])
  const recovered = await averba('subscriptions', 'recover', ...config)
  expect(recovered).toMatchObject({ code: 0 })
  expect(recovered.out).toMatch(/^(\d{4}-\d{2}-\d{2}: 0 notifications recovered of 0 failure records\.\n){2}/)
})

test('a subscription that the portal deletes is never silent: status and list say it, also without a configuration', async () => {
  const { world, of } = await openOnFile({
    averba: { subscriptions: [{ evento, chaveSecreta: 'chave-secreta-um', recreate: 'announce' }] },
  })
  const { averba: host, clock } = world
  await applyPlan(host)
  await lose(world, { numero: '1' })
  for (let day = 0; day < 31; day++) {
    await host.subscriptions.recover()
    await clock.advance(dayMs)
  }
  const { code, out } = await averba('status', ...of)
  expect({ code, out }).toMatchObject({ code: 2, out: expect.stringContaining(`the portal deleted ${evento}`) })
  expect((await averba('subscriptions', 'list', ...of)).out).toContain('deleted by the portal [averba plan]')
})

test('the log is printed and followed, and a stream shown with its state, now and at a past moment', async () => {
  const { world, of } = await openOnFile()
  const { consent, subject } = await readConsent(world, 'PENDENTE')
  await world.averba.consents.approve({ subject, id: consent.id })
  const [approved] = await eventsOf(world, 'consent.approved')
  const stream = approved?.stream ?? ''
  const log = await averba('log', '--limit', '2', '--kind', 'consent', ...of)
  expect(log.out.trim().split('\n')).toHaveLength(2)
  expect(log.out).toContain('consent.approved: Consent approved at the request of this organisation')
  const after = await averba('log', '--after', '3', '--type', 'consent.appeared', '--json', ...of)
  expect(
    after.out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).type),
  ).toContain('consent.appeared')
  expect(await averba('log', '--after', '3', '--limit', '2', '--follow', ...of)).toMatchObject(failedWith('left out'))
  const page = await averba('log', '--after', '3', '--limit', '2', '--json', ...of)
  expect(
    page.out
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).position),
  ).toEqual([4, 5])
  expect(await averba('log', '--type', 'consent.nope', ...of)).toMatchObject(failedWith('INVALID_INPUT'))
  expect(await averba('log', '--kind', 'consents', ...of)).toMatchObject(
    failedWith('It is one of: budget, certificate, consent,'),
  )
  expect(await averba('log', '--stream', 'consent-x', ...of)).toEqual({ code: 0, out: '', err: 'No events.\n' })

  const shown = await averba('show', stream, ...of)
  expect(shown.out).toMatch(/\n {2}status\.listed\.ATIVO\n/)
  const before = await averba('show', stream, '--known-at', String((approved?.position ?? 0) - 1), ...of)
  expect(before.out).toMatch(/\n {2}status\.listed\.PENDENTE\n/)
  expect(before.out).not.toContain('consent.approved')
  expect(await averba('show', 'consent-none', ...of)).toMatchObject(failedWith('NOT_FOUND'))

  const following = startCommand(['log', '--follow', '--limit', '1', ...of])
  await following.line('consent')
  await world.averba.consents.sync({ subject })
  await following.line('subject.synced')
  following.stop('SIGINT')
  expect(await following.ended).toMatchObject({ code: 0 })
})

test('what a log needs is said in Portuguese when the terminal or --lang asks for it', async () => {
  const { of } = await openOnFile()
  for (const [args, env] of [
    [['--lang', 'pt-BR'], {}],
    [['--lang=pt_br'], {}],
    [[], { LANG: 'pt_BR.UTF-8' }],
  ] as const) {
    const { ended } = startCommand(['status', ...of, ...args], { input: '', env })
    expect(await ended).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^registro .*\n(.*\n)*Nada exige ação\.\n$/),
    })
  }
  const failed = await averba('show', 'consent-none', '--lang', 'pt-BR', ...of)
  expect(failed.err).toMatch(/^NOT_FOUND \(não encontrado\): /)
  expect(await averba('effects', 'nada', '--lang', 'pt-BR')).toMatchObject(
    failedWith("erro: comando desconhecido 'nada'"),
  )
  expect(await averba('status', '--lang', 'fr')).toMatchObject(failedWith('Use en or pt-BR'))
  expect((await averba('effects', 'list', '--help', '--lang', 'pt-BR')).out).toMatch(
    /^Uso: averba effects list .*\n\nLista as chamadas/,
  )
})
