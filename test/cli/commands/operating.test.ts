import { existsSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type AverbaOptions, staticHeaders } from '../../../src/index.ts'
import type { World, WorldOptions } from '../../../src/simulation/index.ts'
import { lose } from '../../scenarios/subscriptions/story.ts'
import { answering, busy } from '../../support/answers.ts'
import { averba, averbaJson, expectFailure, expectOutput, startCommand } from '../../support/command-line.ts'
import { configFile } from '../../support/config-file.ts'
import { eventsOf } from '../../support/events-of.ts'
import { readConsent } from '../../support/given-consent.ts'
import { isToken, validate } from '../../support/open-validating.ts'
import { dayMs, hourMs, passTime } from '../../support/pass-time.ts'
import { applyPlan, deliver } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const by = '--actor agent-7'
const actor = { kind: 'person', ref: 'agent-7' }
const publicUrl = 'https://receptor.exemplo.br/averba'
const receiver = { publicUrl, secretFrom: 'segredo-mestre-de-exemplo-com-tamanho' }

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
  const intercept = answering(
    request => isDown && !isToken(request),
    () => busy(3600),
  )
  const world = await openWorld({ averba: { store, ...averba }, intercept })
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
  const listed = await expectOutput(run('effects list'), /^ID +CALL +STATE +WHY, UNTIL WHEN, WHAT TO DO\n/)
  const why = 'deferred +for a process that .*: the validation service answered 429 \\[retry, park'
  expect(listed.out).toMatch(new RegExp(`${effect} +validationService.validatePerson +${why}`))
  const { out: validations } = await run('validations list')
  const { validations: rows } = await read('validations list')
  const { calls } = await read('effects list')
  expect(rows).toMatchObject([{ id: 'order-2' }, { id: 'order-1' }])
  expect(rows.at(-1).call).toEqual(calls.find(({ id }: { id: string }) => id === effect))
  expect(validations).toMatch(new RegExp(`order-1 +requested +\\S+Z +${effect}: for a process that .* \\[retry, park`))
  const waits = /validatePerson\nstate +deferred\nwaits +for a process/
  const shown = await expectOutput(run(`effects show ${effect}`), waits)
  expect(shown.out).not.toContain('Maria')

  // Without --actor nobody would be accountable.
  await expectFailure(run(`effects park ${effect}`), '--actor is missing')
  await expectFailure(run(`effects park ${by}`), 'neither ids nor what selects')
  const park = `effects park --service validationService ${by}`
  await expectOutput(run('effects park --service validationService --dry-run'), 'calls (found: 2).\nNothing was done.')
  const both = { code: 0, out: `accepted  ${effect}\naccepted  ${other}\n2 calls (accepted: 2).\n` }
  expect(await run(park)).toMatchObject(both)
  const others = 'Nothing was found: only deferred calls were looked for. --state selects others.\n'
  expect(await run(park)).toMatchObject({ code: 0, out: others })
  const again = await run(`effects park ${effect} x/1/0 --json ${by}`)
  expect(again.code).toBe(1)
  expect(JSON.parse(again.out).done).toMatchObject([{ code: 'REFUSED' }, { code: 'NOT_FOUND' }])
  // Ids and filters together could be read both ways, and a dry run looks each one up.
  await expectFailure(run(`effects park ${effect} --service portal ${by}`), 'Cannot use --service with ids')
  const found = /^found {2}\S+\nfailed {2}x\/1\/0 {2}NOT_FOUND: /
  await expectOutput(run(`effects retry ${effect} x/1/0 --dry-run`), found, 1)

  setDown(false)
  await run(`effects retry ${effect} ${by}`)
  await expectOutput(run(`effects show ${effect}`), /attempts +0\n.*\nhistory +effect-/)
  // The processes of a host know their services: this command has no configuration.
  expect(await run(`effects withdraw ${other} ${by}`)).toMatchObject({ code: 1 })
  await world.averba.effects.withdraw(other)
  await passTime(world, hourMs)
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'settled' })
  expect(await run('effects list')).toMatchObject({ code: 0, out: 'No calls.\n' })
  expect(await eventsOf(world, 'effect.parked', 'effect.resumed')).toMatchObject([{ actor }, { actor }, { actor }])
  expect((await read('effects list --state settled --limit 1')).more).toBe(true)
  await expectFailure(run('effects list --state opened'), 'Allowed choices are')
  // What one types is the same in every language.
  const typed = 'Valores possíveis: open, pending, started, deferred, parked, unknown, settled, declined, cancelled'
  await expectFailure(run('effects list --state aberta --lang pt-BR'), typed)
})

test('a parked notification is found, read with a record of who read it, and handled again', async () => {
  const { world, run, read } = await openOnFile({ subscriptions: [{ evento, chaveSecreta: 'chave-secreta-um' }] })
  let isBroken = true
  world.averba.notifications.handle(evento, 'erp', async () => {
    if (isBroken) throw new Error('the ERP is down')
  })
  await applyPlan(world.averba)
  await deliver(world, { numero: '26BR0001' })
  await passTime(world, 60_000)
  await expectOutput(run('notifications list'), / +failing +\S+Z +erp: failing \(1 attempt\), again at \S+Z \(/)
  const dry = run(`notifications replay --dry-run ${by}`)
  await expectOutput(dry, /\n1 notification \(found: 1\)\.\nNothing was done\.\n$/)
  await passTime(world, hourMs, 12)
  await expectOutput(run('notifications list --state parked'), / +parked +\S+Z +erp: parked \[replay, skip\]\n$/)
  const [{ id }] = (await read('notifications list')).notifications
  const show = `notifications show ${id}`
  const sealed = await run(show)
  expect(sealed.out).toContain('sealed: --data shows it')
  expect(sealed.out).not.toContain('26BR0001')
  await expectFailure(run(`${show} --data`), '--actor is missing')
  await expectFailure(run(`${show} --purpose p`), 'Cannot use --purpose')
  const opened = await run(`${show} --data ${by} --purpose`, 'ticket 12')
  expect(opened.out).toContain('{"numero":"26BR0001"}')
  expect(await eventsOf(world, 'reveal.recorded')).toMatchObject([{ actor, data: { purpose: 'ticket 12' } }])
  await expectFailure(run('notifications show none'), 'NOT_FOUND')

  isBroken = false
  const replayed = `accepted  ${id}\n1 notification (accepted: 1).\n`
  expect((await run(`notifications replay --evento ${evento} ${by}`)).out).toBe(replayed)
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
  await deliver(world, {})
  await passTime(world, hourMs, 14)
  const name = `notifications/${evento}/erp`
  expect(await run(`followers remove ${name} ${by}`)).toMatchObject({ code: 1 })
  await world.restart()
  await deliver(world, { n: 2 })
  // The commands run days later.
  const advice = `no process has run ${name} for a day: run it, or use averba followers remove`
  expect((await run('status')).out).toContain(`WRONG followers: ${advice}`)
  await expectOutput(run('followers list'), /an event waits since 2026-11-2\S+ for a process that runs it/)
  const removed = { code: 0, out: `accepted  ${name}\n1 follower (accepted: 1).\n` }
  expect(await run(`followers remove ${name} ${by}`)).toMatchObject(removed)
  expect(await run('followers list')).toMatchObject({ code: 0, out: 'No followers.\n' })

  const [{ id }] = (await read('notifications list --state parked')).notifications
  const skipped = { code: 0, out: `accepted  notification-${id}\n1 notification (accepted: 1).\n` }
  expect(await run(`notifications skip notification-${id} ${by}`)).toMatchObject(skipped)
  expect((await run('notifications list')).out).toMatch(/ +handled +\S+Z +erp: skipped\n/)
})

async function openWithParked() {
  const opened = await openOnFile()
  const { averba, samples } = opened.world
  averba.log.follow('erp', ['subject.enrolled'], () => Promise.reject(new Error('the ERP is down')))
  await averba.consents.enrol({ cpf: samples.cpf })
  await passTime(opened.world, dayMs, 14)
  return opened
}

test('a parked follower tries again, or skips with a record of who decided it', async () => {
  const { world, run } = await openWithParked()
  const parked = /^NAME +POSITION .*\nerp +\d+ +parked at the event \d+: .* \[retry, skip\]\n$/
  await expectOutput(run('followers list'), parked)
  await expectOutput(run(`followers retry erp other ${by}`), /^accepted {2}erp\nfailed {2}other {2}NOT_FOUND: /, 1)
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
  await expectOutput(run('status'), doubt, 2)
  expect((await run('effects list')).out).toContain(': the connection broke (ECONNRESET)')
  const perhaps =
    /order-1 +inconclusive +\S+Z +perhaps done and paid, with the trace id \w{26}: find out \[resolve\]\n$/
  await expectOutput(run('validations list --state inconclusive'), perhaps)
  const resolve = `validations resolve order-1 ${by}`
  await expectFailure(run(resolve), 'give either --charged or --not-charged')
  for (const [verdict, words] of [
    ['--charged', 'charged'],
    ['--not-charged', 'not charged.\nIt had been recorded otherwise before: the log keeps both'],
  ])
    expect(await run(`${resolve} ${verdict}`)).toMatchObject({ code: 0, out: `order-1: recorded as ${words}.\n` })
  const resolved = { id: 'order-1', charged: false, traceId: expect.stringMatching(/^\w{26}$/) }
  expect(await read('validations list')).toMatchObject({ validations: [resolved] })

  await expectFailure(run('validations show order-2'), 'NOT_FOUND: Cannot find the validation')
  const shown = await run('validations show order-1')
  expect(shown.out).toMatch(/^order-1\nstate +resolved: not charged\nrequested +\S+Z\nended +\S+Z\n/)
  expect(shown.out).not.toContain('Maria')
  expect(await read('validations show order-1')).toMatchObject(resolved)
  const inPortuguese = /^order-1\nestado +resolved: não cobrada\npedida .*\nterminou [\s\S]*lacrado: --data o mostra\n$/
  await expectOutput(run('validations show order-1 --lang pt-BR'), inPortuguese)
  const seen = await run(`validations show order-1 --data ${by} --purpose`, 'ticket 12')
  expect(seen.out).toContain('Maria')
  expect(await eventsOf(world, 'reveal.recorded')).toMatchObject([{ actor, data: { purpose: 'ticket 12' } }])
  await expectOutput(run('status'), /Nothing needs a person\.\n$/)
  // No service declined it.
  await expectOutput(run('effects list --state declined'), /validatePerson +declined +ended: it was found out\n/)
  const subject = (await read('validations show order-1')).subject
  await run(`erase --subject ${subject} ${by} --requester r --legal-basis x`)
  const destroyed = /\ncontent +destroyed with its person\n$/
  await expectOutput(run('validations show order-1'), destroyed)
  await expectOutput(run(`validations show order-1 --data ${by} --purpose`, 'ticket 13'), destroyed)
  expect(await eventsOf(world, 'reveal.recorded')).toHaveLength(1)
})

test('consents are listed, read and decided on: one, or all of a controller', async () => {
  const { world, store, run, read, setDown } = await openOnFile()
  const { subject, which } = await readConsent(world, 'ATIVO')
  const { run: act } = runConfigured(world, store)
  const revoke = `consents revoke ${by} --reason x`
  const { consents } = await read('consents list --status ATIVO')
  expect(consents.map((each: { subject: string }) => each.subject)).toEqual([subject, subject])
  const [{ controller }] = consents
  expect((await run('consents list --limit 1')).out).toMatch(/\nThere are more: --limit shows them\.\n$/)
  expect((await run('consents list')).out).toMatch(/ATIVO +\w{14} +expires \S+Z\n/)
  // A status alone would be that of everybody.
  for (const selected of ['', ' --status ATIVO']) await expectFailure(act(revoke + selected), 'it is not said whose')
  expect((await act(`${revoke} nope`)).out).toMatch(/nope +NOT_FOUND: .*averba consents list .*has no such stream/)
  const decided = `consents revoke --controller ${controller} ${by} --reason`
  await expectOutput(act(decided, 'the controller left'), '1 consent (done: 1).')
  expect(await eventsOf(world, 'consent.revoked')).toHaveLength(1)
  await expectFailure(act(`consents sync --subject ${subject}`), '--actor is missing')
  await expectOutput(act(`consents sync --subject ${subject} --dry-run`), `found  ${subject}`)
  const done = (who: string) => ({ code: 0, out: `done  ${who}\n1 subject (done: 1).\n` })
  expect(await act(`consents sync --controller ${controller} ${by}`)).toMatchObject(done(subject))

  // One that was never read has no rows yet.
  const fresh = await world.averba.consents.enrol({ cpf: '52998224725' })
  expect(await act(`consents sync --subject ${fresh} ${by}`)).toMatchObject(done(fresh))
  await expectOutput(act(`consents sync --subject nobody ${by}`), 'NOT_FOUND', 1)

  const { run: actOnNone } = runConfigured(world, store, { fetch: async () => Response.json([]) })
  const sync = `consents sync --subject ${subject} ${by}`
  expect(await actOnNone(sync)).toMatchObject(done(subject))
  await expectOutput(act(`${revoke} --subject ${subject}`), 'recorded, and not sent yet', 2)
  await expectOutput(run('consents list --ends'), 'and it is not listed [revoke, withdraw-end]')
  await expectOutput(act(`consents withdraw-end --subject ${subject} ${by} --reason x`), '1 consent (done: 1).')
  expect(await act(sync)).toMatchObject(done(subject))

  // A revocation that cannot be made is wanted until somebody gives it up.
  const [other] = await world.averba.consents.list({ subject, status: 'ATIVO' })
  setDown(true)
  await world.averba.consents.revoke({ subject, id: other?.id ?? which.id })
  const wanted =
    /its end is wanted since \S+Z \[revoke, withdraw-end\]; consent-\S+: for a process .* answered 429 \[retry, park\]\n$/
  const ends = await expectOutput(run('consents list --ends'), wanted)
  const [call] = (await read('effects list --type consentService.changeStatus')).calls
  expect((await read('consents list --ends')).consents).toMatchObject([{ call }])
  // Also where no service is configured.
  const need = `WRONG consents: 1 denial or revocation has not been made yet, .* See: averba consents list --store ${store} --ends\n`
  await expectOutput(run('status'), new RegExp(need), 2)
  const [, stream = ''] = /^(consent-\S+)/m.exec(ends.out) ?? []
  const withdraw = `consents withdraw-end ${stream} ${by} --reason`
  expect(await act(withdraw, 'by mistake')).toMatchObject({ code: 0 })
  expect(await run('consents list --ends')).toMatchObject({ out: 'No consents.\n' })
  await expectOutput(act(withdraw, 'again'), 'REFUSED', 1)

  // What is recorded, and goes out when the service answers again, is neither done nor failed.
  const { run: actOnBusy } = runConfigured(world, store, { fetch: async () => busy(3600) })
  const recorded = /^recorded {2}consent-\S+ {2}not done yet, tried again at .*\n1 consent \(recorded: 1/
  await expectOutput(actOnBusy(`${revoke} --subject ${subject} --status ATIVO`), recorded, 2)
})

test('subscriptions are listed with the day of their deletion, rotated and recovered', async () => {
  const declared = { subscriptions: [{ evento }], receiver }
  const { world, store, run } = await openOnFile(declared)
  await applyPlan(world.averba)
  const { run: act } = runConfigured(world, store, declared)
  expect((await run('subscriptions list')).out).toMatch(/dimp-situacao-import +active +healthy +https:/)
  await expectOutput(act(`subscriptions rotate ${evento} ${by}`), `${evento}: done.\n`)
  expect(await eventsOf(world, 'subscription.rotationRequested')).toMatchObject([{ actor }])
  const recovered = /^(\d{4}-\d{2}-\d{2}: 0 notifications recovered of 0 failure records\.\n){2}/
  await expectOutput(act('subscriptions recover'), recovered)
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
  await expectOutput(run('status'), `the portal deleted ${evento}`, 2)
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
  await expectFailure(run('log --after 3 --limit 2 --follow'), 'left out')
  expect((await linesOf('log --after 3 --limit 2 --json')).map(line => JSON.parse(line).position)).toEqual([4, 5])
  await expectFailure(run('log --type consent.nope'), 'INVALID_INPUT')
  await expectFailure(run('log --kind consents'), 'It is one of: budget, certificate, consent,')
  expect(await run('log --stream consent-x')).toEqual({ code: 0, out: '', err: 'No events.\n' })

  expect((await run(`show ${stream}`)).out).toMatch(/\n {2}status\.listed\.ATIVO\n/)
  const before = await run(`show ${stream} --known-at ${(approved?.position ?? 0) - 1}`)
  expect(before.out).toMatch(/\n {2}status\.listed\.PENDENTE\n/)
  expect(before.out).not.toContain('consent.approved')
  await expectFailure(run('show consent-none'), 'NOT_FOUND')

  const following = startCommand(['log', '--follow', '--limit', '1', '--store', store])
  await following.line('consent')
  await world.averba.consents.sync({ subject })
  await following.line('subject.synced')
  expect(await following.stop('SIGINT')).toMatchObject({ code: 0 })
})

test('what a log needs is said in Portuguese when the terminal or --lang asks for it', async () => {
  const { store, run } = await openOnFile()
  for (const [args, env] of [
    [['--lang', 'pt-BR'], {}],
    [['--lang=pt_br'], {}],
    [[], { LANG: 'pt_BR.UTF-8' }],
  ] as const) {
    const { ended } = startCommand(['status', '--store', store, ...args], { input: '', env })
    await expectOutput(ended, /^registro .*\n(.*\n)*Nada exige ação\.\n$/)
  }
  await expectFailure(run('show consent-none --lang pt-BR'), /^NOT_FOUND \(não encontrado\): /)
  await expectFailure(averba('effects', 'nada', '--lang', 'pt-BR'), "comando desconhecido 'nada'")
  await expectFailure(averba('status', '--lang', 'fr'), 'Use en or pt-BR')
  const help = averba('effects', 'list', '--help', '--lang', 'pt-BR')
  await expectOutput(help, /^Uso: averba effects list .*\n\nLista as chamadas/)
})

test('a command that only looks leaves a missing mark missing, and says so in words, or in JSON with --json', async () => {
  const { world, store, run } = await openWithParked()
  await world.averba.close()
  rmSync(`${store}.mark`)
  const warned = 'ERROR: the high-water mark is missing: find out who changed it, since a rollback goes unnoticed'
  const lists = ['followers', 'effects', 'validations', 'notifications', 'consents', 'subscriptions']
  const looks = ['status', 'log', ...lists.map(each => `${each} list`), 'show subject-nobody']
  for (const look of [...looks, 'effects retry x/1/0 --dry-run'])
    expect((await run(look)).err, look).toContain(`${warned} (ROLLED_BACK)\n`)
  const inPortuguese = 'ERRO: a marca falta: descubra quem a alterou, pois um retrocesso passa despercebido'
  expect((await run('status --lang pt-BR')).err).toBe(`${inPortuguese} (ROLLED_BACK)\n`)
  expect(JSON.parse((await run('status --json')).err)).toMatchObject({ level: 'error', error: 'ROLLED_BACK' })
  const anchor = () => expect.fail('A third party was asked')
  expect((await averba('status', '--config', configFile({ store, anchor }))).err).toContain(warned)
  expect(existsSync(`${store}.mark`)).toBe(false)
  expect(await run(`followers skip erp ${by}`)).toMatchObject({ code: 0, err: expect.stringContaining(warned) })
  expect(existsSync(`${store}.mark`)).toBe(true)
  expect(await run('status')).toMatchObject({ err: '' })
})
