import { existsSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type AverbaOptions, staticHeaders } from '../../../src/index.ts'
import type { World, WorldOptions } from '../../../src/simulation/index.ts'
import { lose } from '../../scenarios/subscriptions/story.ts'
import { averba, averbaJson, failedWith, printed, startCommand } from '../../support/command-line.ts'
import { configFile } from '../../support/config-file.ts'
import { eventsOf } from '../../support/events-of.ts'
import { readConsent } from '../../support/given-consent.ts'
import { isToken, validate } from '../../support/open-validating.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const by = '--actor agent-7'
const actor = { kind: 'person', ref: 'agent-7' }
const publicUrl = 'https://receptor.exemplo.br/averba'
const receiver = { publicUrl, secretFrom: 'segredo-mestre-de-exemplo-com-tamanho' }
const busy = () => Response.json({}, { status: 429, headers: { 'retry-after': '3600' } })

/** Runs a command line on one log. What has blanks in it comes after the line. */
const runOn = (option: string, file: string) => {
  const words = (line: string, more: readonly string[]) => [...line.split(' '), ...more, option, file]
  return {
    run: (line: string, ...more: string[]) => averba(...words(line, more)),
    read: (line: string, ...more: string[]) => averbaJson(...words(line, more)),
  }
}

/** A world on a file, whose engine runs while commands work on the same file. Its services can go down. */
async function openOnFile(averba: WorldOptions['averba'] = {}) {
  const store = temporaryStore()
  let isDown = false
  const world = await openWorld({
    averba: { store, ...averba },
    intercept: async (request, forward) => (isDown && !isToken(request) ? busy() : forward(request)),
  })
  const setDown = (down: boolean) => {
    isDown = down
  }
  return { world, store, setDown, ...runOn('--store', store) }
}

/** Runs command lines with a configuration of the same log and the same services, as an operator has it. */
function runConfigured({ clock, reach }: World, store: string, more: Partial<AverbaOptions> = {}) {
  const fetch = (request: Request) =>
    request.url.includes('/portal/')
      ? reach.portal(request)
      : reach.consentService(request, { clientName: 'gestora-de-exemplo' })
  const authenticate = staticHeaders({ authorization: 'sessao-de-exemplo' })
  const portal = { baseUrl: 'https://portal.exemplo.br', authenticate }
  const common = { store, clock, fetch, portal, receiver: { publicUrl } }
  return runOn('--config', configFile({ ...common, consentService: consentServiceWith({}), ...more }))
}

test('a stuck call is found, explained, released, parked and given up, while another process runs', async () => {
  const { world, run, read, setDown } = await openOnFile()
  setDown(true)
  const { effect } = await validate(world.averba, 'order-1')
  const { effect: other } = await validate(world.averba, 'order-2')
  const listed = await run('effects list')
  expect(listed).toMatchObject(printed(/^ID +CALL +STATE +WHY, UNTIL WHEN, WHAT TO DO\n/))
  const why = 'deferred +for a process that .*: the validation service answered 429 \\[retry, park'
  expect(listed.out).toMatch(new RegExp(`${effect} +validationService.validatePerson +${why}`))
  const { out: validations } = await run('validations list')
  const { validations: rows } = await read('validations list')
  const { calls } = await read('effects list')
  expect(rows).toMatchObject([{ id: 'order-2' }, { id: 'order-1' }])
  expect(rows.at(-1).call).toEqual(calls.find(({ id }: { id: string }) => id === effect))
  expect(validations).toMatch(new RegExp(`order-1 +requested +\\S+Z +${effect}: for a process that .* \\[retry, park`))
  const shown = await run(`effects show ${effect}`)
  expect(shown.out).toMatch(/validatePerson\nstate +deferred\nwaits +for a process that /)
  expect(shown.out).not.toContain('Maria')

  // Without --actor nobody would be accountable.
  expect(await run(`effects park ${effect}`)).toMatchObject(failedWith('--actor is missing'))
  expect(await run(`effects park ${by}`)).toMatchObject(failedWith('neither ids nor what selects'))
  const park = `effects park --service validationService ${by}`
  expect(await run('effects park --service validationService --dry-run')).toMatchObject(
    printed('2 calls: 2 found.\nNothing was done.'),
  )
  const both = { code: 0, out: `accepted  ${effect}\naccepted  ${other}\n2 calls: 2 accepted.\n` }
  expect(await run(park)).toMatchObject(both)
  const again = await run(`effects park ${effect} x/1/0 --json ${by}`)
  expect(again.code).toBe(1)
  expect(JSON.parse(again.out).done).toMatchObject([{ code: 'REFUSED' }, { code: 'NOT_FOUND' }])
  // Ids and filters together could be read both ways, and a dry run looks each one up.
  const ambiguous = await run(`effects park ${effect} --service portal ${by}`)
  expect(ambiguous).toMatchObject(failedWith('Cannot use --service with ids'))
  const tried = await run(`effects retry ${effect} x/1/0 --dry-run`)
  expect(tried).toMatchObject(printed(/^found {2}\S+\nfailed {2}x\/1\/0 {2}NOT_FOUND: /, 1))

  setDown(false)
  await run(`effects retry ${effect} ${by}`)
  // The processes of a host know their services: this command has no configuration.
  expect(await run(`effects withdraw ${other} ${by}`)).toMatchObject({ code: 1 })
  await world.averba.effects.withdraw(other)
  await passTime(world, hourMs)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'settled' })
  expect(await run('effects list')).toMatchObject({ code: 0, out: 'No calls.\n' })
  expect(await eventsOf(world, 'effect.parked', 'effect.resumed')).toMatchObject([{ actor }, { actor }, { actor }])
  expect((await read('effects list --state settled --limit 1')).more).toBe(true)
  expect(await run('effects list --state opened')).toMatchObject(failedWith('Allowed choices are'))
  // What one types is the same in every language.
  const typed = 'Valores possíveis: open, pending, started, deferred, parked, unknown, settled, declined, cancelled.'
  expect(await run('effects list --state aberta --lang pt-BR')).toMatchObject(failedWith(typed))
})

test('a parked notification is found, read with a record of who read it, and handled again', async () => {
  const { world, run, read } = await openOnFile({ subscriptions: [{ evento, chaveSecreta: 'chave-secreta-um' }] })
  const { portal, samples } = world
  let isBroken = true
  world.averba.notifications.handle(evento, 'erp', async () => {
    if (isBroken) throw new Error('the ERP is down')
  })
  await applyPlan(world.averba)
  const body = { numero: '26BR0001' }
  await portal.notify({ evento, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body })
  await passTime(world, 60_000)
  const failing = await run('notifications list')
  expect(failing.out).toMatch(/ +failing +\S+Z +erp: failing \(1 attempt\), again at \S+Z \(/)
  const asked = await run(`notifications replay --dry-run ${by}`)
  expect(asked.out).toMatch(/\n1 notification: 1 found\.\nNothing was done\.\n$/)
  await passTime(world, hourMs, 12)
  const listed = await run('notifications list --state parked')
  expect(listed.out).toMatch(/ +parked +\S+Z +erp: parked \[replay, skip\]\n$/)
  const [{ id }] = (await read('notifications list')).notifications
  const show = `notifications show ${id}`
  const sealed = await run(show)
  expect(sealed.out).toContain('sealed: --data shows it')
  expect(sealed.out).not.toContain('26BR0001')
  expect(await run(`${show} --data`)).toMatchObject(failedWith('--actor is missing'))
  expect(await run(`${show} --purpose p`)).toMatchObject(failedWith('Cannot use --purpose'))
  const opened = await run(`${show} --data ${by} --purpose`, 'ticket 12')
  expect(opened.out).toContain('{"numero":"26BR0001"}')
  expect(await eventsOf(world, 'reveal.recorded')).toMatchObject([{ actor, data: { purpose: 'ticket 12' } }])
  expect(await run('notifications show none')).toMatchObject(failedWith('NOT_FOUND'))

  isBroken = false
  const replayed = await run(`notifications replay --evento ${evento} ${by}`)
  expect(replayed).toMatchObject({ code: 0, out: `accepted  ${id}\n1 notification: 1 accepted.\n` })
  await passTime(world, hourMs)
  expect((await read('notifications list')).notifications).toMatchObject([{ state: 'handled' }])
  expect(await run(`notifications replay ${by}`)).toMatchObject({ code: 0, out: 'Nothing was found.\n' })
})

test('a follower that nobody runs is removed, and a notification is skipped', async () => {
  const { world, run, read } = await openOnFile({ subscriptions: [{ evento, chaveSecreta: 'chave-secreta-um' }] })
  world.averba.notifications.handle(evento, 'erp', async () => {
    throw new Error('the ERP is down')
  })
  await applyPlan(world.averba)
  const delivery = { evento, destinatarioTipo: 'CNPJ', destinatarioId: world.samples.cnpj, body: {} } as const
  await world.portal.notify(delivery)
  await passTime(world, hourMs, 14)
  const name = `notifications/${evento}/erp`
  expect(await run(`followers remove ${name} ${by}`)).toMatchObject({ code: 1 })
  await world.restart()
  await world.portal.notify({ ...delivery, body: { n: 2 } })
  // The commands run days later.
  const advice = `no process has run ${name} for a day: run it, or use averba followers remove`
  expect((await run('status')).out).toContain(`WRONG followers: ${advice}`)
  const waits = /an event waits since 2026-11-2\S+ for a process that runs it/
  expect((await run('followers list')).out).toMatch(waits)
  const removed = { code: 0, out: `accepted  ${name}\n1 follower: 1 accepted.\n` }
  expect(await run(`followers remove ${name} ${by}`)).toMatchObject(removed)
  expect(await run('followers list')).toMatchObject({ code: 0, out: 'No followers.\n' })

  const [{ id }] = (await read('notifications list --state parked')).notifications
  const skipped = { code: 0, out: `accepted  notification-${id}\n1 notification: 1 accepted.\n` }
  expect(await run(`notifications skip notification-${id} ${by}`)).toMatchObject(skipped)
  expect((await run('notifications list')).out).toMatch(/ +handled +\S+Z +erp: skipped\n/)
})

test('a parked follower tries again, or skips with a record of who decided it', async () => {
  const { world, run } = await openOnFile()
  world.averba.log.follow('erp', ['subject.enrolled'], async () => {
    throw new Error('the ERP is down')
  })
  await world.averba.consents.enrol({ cpf: world.samples.cpf })
  await passTime(world, dayMs, 14)
  const { out } = await run('followers list')
  expect(out).toMatch(/^NAME +POSITION .*\nerp +\d+ +parked at the event \d+: .* \[retry, skip\]\n$/)
  const retried = printed(/^accepted {2}erp\nfailed {2}other {2}NOT_FOUND: /, 1)
  expect(await run(`followers retry erp other ${by}`)).toMatchObject(retried)
  await passTime(world, dayMs, 14)
  expect((await run(`followers skip erp ${by}`)).out).toMatch(/^erp skips the event at \d+\.\n$/)
  expect(await eventsOf(world, 'follower.retryRequested', 'follower.skipRequested')).toMatchObject([
    { type: 'follower.retryRequested', actor, data: { follower: 'erp' } },
    { type: 'follower.skipRequested', actor },
  ])
})

test('a validation that may have been paid is shown by status and by its list, and resolved', async () => {
  const { world, run, read } = await openOnFile()
  await world.faults.add({ kind: 'lose', service: 'validationService', times: 1 })
  expect(await validate(world.averba, 'order-1')).toMatchObject({ status: 'unknown' })
  const doubt = '1 validation may have been done and paid. See: averba validations list'
  expect(await run('status')).toMatchObject(printed(doubt, 2))
  expect((await run('effects list')).out).toContain(': the connection broke (ECONNRESET)')
  const listed = await run('validations list --state inconclusive')
  expect(listed.out).toMatch(
    /order-1 +inconclusive +\S+Z +perhaps done and paid, with the trace id \w{26}: find out \[resolve\]\n$/,
  )
  const resolve = `validations resolve order-1 ${by}`
  expect(await run(resolve)).toMatchObject(failedWith('give either --charged or --not-charged'))
  for (const [verdict, words] of [
    ['--charged', 'charged'],
    ['--not-charged', 'not charged.\nIt had been recorded otherwise before: the log keeps both'],
  ])
    expect(await run(`${resolve} ${verdict}`)).toMatchObject({ code: 0, out: `order-1: recorded as ${words}.\n` })
  const resolved = { id: 'order-1', charged: false, traceId: expect.stringMatching(/^\w{26}$/) }
  expect((await read('validations list')).validations).toMatchObject([resolved])

  expect(await run('validations show order-2')).toMatchObject(failedWith('NOT_FOUND: Cannot find the validation'))
  const shown = await run('validations show order-1')
  expect(shown.out).toMatch(/^order-1\nstate +resolved: not charged\nrequested +\S+Z\nended +\S+Z\n/)
  expect(shown.out).not.toContain('Maria')
  expect(await read('validations show order-1')).toMatchObject(resolved)
  const inPortuguese = await run('validations show order-1 --lang pt-BR')
  expect(inPortuguese.out).toMatch(
    /^order-1\nestado +resolved: não cobrada\npedida .*\nterminou [\s\S]*lacrado: --data o mostra\n$/,
  )
  const seen = await run(`validations show order-1 --data ${by} --purpose`, 'ticket 12')
  expect(seen.out).toContain('Maria')
  expect(await eventsOf(world, 'reveal.recorded')).toMatchObject([{ actor, data: { purpose: 'ticket 12' } }])
  expect(await run('status')).toMatchObject(printed(/Nothing needs a person\.\n$/))
})

test('consents are listed, read and decided on: one, or all of a controller', async () => {
  const { world, store, run, read, setDown } = await openOnFile()
  const { subject, which } = await readConsent(world, 'ATIVO')
  const { run: act } = runConfigured(world, store)
  const revoke = `consents revoke ${by} --reason x`
  const { consents } = await read('consents list --status ATIVO')
  expect(consents.map((each: { subject: string }) => each.subject)).toEqual([subject, subject])
  const [{ controller }] = consents
  expect((await run('consents list')).out).toMatch(/ATIVO +\w{14} +expires \S+Z\n/)
  // A status alone would be that of everybody.
  for (const selected of ['', ' --status ATIVO'])
    expect(await act(revoke + selected)).toMatchObject(failedWith('it is not said whose'))
  expect((await act(`${revoke} nope`)).out).toMatch(/nope +NOT_FOUND: .*no reading has shown it/)
  const decided = `consents revoke --controller ${controller} --status ATIVO ${by} --reason`
  expect(await act(decided, 'the controller left')).toMatchObject(printed('1 consent: 1 done.'))
  expect(await eventsOf(world, 'consent.revoked')).toHaveLength(1)
  expect(await act(`consents sync --subject ${subject}`)).toMatchObject(failedWith('--actor is missing'))
  expect(await act(`consents sync --subject ${subject} --dry-run`)).toMatchObject(printed(`found  ${subject}`))
  const done = (who: string) => ({ code: 0, out: `done  ${who}\n1 subject: 1 done.\n` })
  expect(await act(`consents sync --controller ${controller} ${by}`)).toMatchObject(done(subject))

  // One that was never read has no rows yet.
  const fresh = await world.averba.consents.enrol({ cpf: '52998224725' })
  expect(await act(`consents sync --subject ${fresh} ${by}`)).toMatchObject(done(fresh))
  expect(await act(`consents sync --subject nobody ${by}`)).toMatchObject(printed('NOT_FOUND', 1))

  // A revocation that cannot be made is wanted until somebody gives it up.
  const [left] = await world.averba.consents.list({ subject, status: 'ATIVO' })
  setDown(true)
  await world.averba.consents.revoke({ subject, id: left?.id ?? which.id })
  const ends = await run('consents list --ends')
  expect(ends.out).toMatch(/its end is wanted since \S+Z \[revoke, withdraw-end\]\n$/)
  const [, stream = ''] = /^(consent-\S+)/m.exec(ends.out) ?? []
  const withdraw = `consents withdraw-end ${stream} ${by} --reason`
  expect(await act(withdraw, 'by mistake')).toMatchObject({ code: 0 })
  expect(await run('consents list --ends')).toMatchObject({ out: 'No consents.\n' })
  expect(await act(withdraw, 'again')).toMatchObject(printed('REFUSED', 1))

  // What is recorded, and goes out when the service answers again, is neither done nor failed.
  const { run: actOnBusy } = runConfigured(world, store, { fetch: async () => busy() })
  const recorded = /^recorded {2}consent-\S+ {2}not done yet, tried again at .*\n1 consent: 1 recorded/
  expect(await actOnBusy(`${revoke} --subject ${subject} --status ATIVO`)).toMatchObject(printed(recorded, 2))
})

test('subscriptions are listed with the day of their deletion, rotated and recovered', async () => {
  const declared = { subscriptions: [{ evento }], receiver }
  const { world, store, run } = await openOnFile(declared)
  await applyPlan(world.averba)
  const { run: act } = runConfigured(world, store, declared)
  expect((await run('subscriptions list')).out).toMatch(/dimp-situacao-import +active +healthy +https:/)
  const rotated = await act(`subscriptions rotate ${evento} ${by}`)
  expect(rotated).toMatchObject({ code: 0, out: `${evento}: done.\n` })
  expect(await eventsOf(world, 'subscription.rotationRequested')).toMatchObject([{ actor }])
  const recovered = /^(\d{4}-\d{2}-\d{2}: 0 notifications recovered of 0 failure records\.\n){2}/
  expect(await act('subscriptions recover')).toMatchObject(printed(recovered))
})

test('a subscription that the portal deletes is never silent: status and list say it, also without a configuration', async () => {
  const subscriptions = [{ evento, chaveSecreta: 'chave-secreta-um', recreate: 'announce' }] as const
  const { world, run } = await openOnFile({ subscriptions })
  const { averba: host, clock } = world
  await applyPlan(host)
  await lose(world, { numero: '1' })
  for (let day = 0; day < 31; day++) {
    await host.subscriptions.recover()
    await clock.advance(dayMs)
  }
  expect(await run('status')).toMatchObject(printed(`the portal deleted ${evento}`, 2))
  expect((await run('subscriptions list')).out).toContain('deleted by the portal [averba plan]')
})

test('the log is printed and followed, and a stream shown with its state, now and at a past moment', async () => {
  const { world, store, run } = await openOnFile()
  const { consent, subject } = await readConsent(world, 'PENDENTE')
  await world.averba.consents.approve({ subject, id: consent.id })
  const [approved] = await eventsOf(world, 'consent.approved')
  const stream = approved?.stream ?? ''
  const linesOf = async (line: string) => (await run(line)).out.trim().split('\n')
  const log = await linesOf('log --limit 2 --kind consent')
  expect(log).toHaveLength(2)
  expect(log.join()).toContain('consent.approved: Consent approved at the request of this organisation')
  const after = await linesOf('log --after 3 --type consent.appeared --json')
  expect(after.map(line => JSON.parse(line).type)).toContain('consent.appeared')
  expect(await run('log --after 3 --limit 2 --follow')).toMatchObject(failedWith('left out'))
  const page = await linesOf('log --after 3 --limit 2 --json')
  expect(page.map(line => JSON.parse(line).position)).toEqual([4, 5])
  expect(await run('log --type consent.nope')).toMatchObject(failedWith('INVALID_INPUT'))
  const kinds = failedWith('It is one of: budget, certificate, consent,')
  expect(await run('log --kind consents')).toMatchObject(kinds)
  expect(await run('log --stream consent-x')).toEqual({ code: 0, out: '', err: 'No events.\n' })

  expect((await run(`show ${stream}`)).out).toMatch(/\n {2}status\.listed\.ATIVO\n/)
  const before = await run(`show ${stream} --known-at ${(approved?.position ?? 0) - 1}`)
  expect(before.out).toMatch(/\n {2}status\.listed\.PENDENTE\n/)
  expect(before.out).not.toContain('consent.approved')
  expect(await run('show consent-none')).toMatchObject(failedWith('NOT_FOUND'))

  const following = startCommand(['log', '--follow', '--limit', '1', '--store', store])
  await following.line('consent')
  await world.averba.consents.sync({ subject })
  await following.line('subject.synced')
  following.stop('SIGINT')
  expect(await following.ended).toMatchObject({ code: 0 })
})

test('what a log needs is said in Portuguese when the terminal or --lang asks for it', async () => {
  const { store, run } = await openOnFile()
  for (const [args, env] of [
    [['--lang', 'pt-BR'], {}],
    [['--lang=pt_br'], {}],
    [[], { LANG: 'pt_BR.UTF-8' }],
  ] as const) {
    const { ended } = startCommand(['status', '--store', store, ...args], { input: '', env })
    expect(await ended).toMatchObject(printed(/^registro .*\n(.*\n)*Nada exige ação\.\n$/))
  }
  const failed = await run('show consent-none --lang pt-BR')
  expect(failed.err).toMatch(/^NOT_FOUND \(não encontrado\): /)
  const unknown = failedWith("erro: comando desconhecido 'nada'")
  expect(await averba('effects', 'nada', '--lang', 'pt-BR')).toMatchObject(unknown)
  expect(await averba('status', '--lang', 'fr')).toMatchObject(failedWith('Use en or pt-BR'))
  const help = await averba('effects', 'list', '--help', '--lang', 'pt-BR')
  expect(help.out).toMatch(/^Uso: averba effects list .*\n\nLista as chamadas/)
})

test('a command that only looks leaves a missing mark missing, and says so in words, or in JSON with --json', async () => {
  const { world, store, run } = await openOnFile()
  world.averba.log.follow('erp', ['subject.enrolled'], async () => {
    throw new Error('the ERP is down')
  })
  await world.averba.consents.enrol({ cpf: world.samples.cpf })
  await passTime(world, dayMs, 14)
  await world.averba.close()
  rmSync(`${store}.mark`)
  const warned = 'ERROR: the high-water mark is missing: find out who changed it, since a rollback goes unnoticed'
  const looks = [
    'status',
    'log',
    'followers list',
    'effects list',
    'validations list',
    'notifications list',
    'consents list',
  ]
  for (const look of [...looks, 'subscriptions list', 'show subject-nobody'])
    expect((await run(look)).err, look).toContain(`${warned} (ROLLED_BACK)\n`)
  const inPortuguese = 'ERRO: a marca falta: descubra quem a alterou, pois um retrocesso passa despercebido'
  expect((await run('status --lang pt-BR')).err).toBe(`${inPortuguese} (ROLLED_BACK)\n`)
  expect(JSON.parse((await run('status --json')).err)).toMatchObject({ level: 'error', error: 'ROLLED_BACK' })
  expect(existsSync(`${store}.mark`)).toBe(false)
  expect(await run(`followers skip erp ${by}`)).toMatchObject({ code: 0, err: expect.stringContaining(warned) })
  expect(existsSync(`${store}.mark`)).toBe(true)
  expect(await run('status')).toMatchObject({ err: '' })
})
