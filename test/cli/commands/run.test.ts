import { beforeEach, expect, test } from 'vitest'
import type { Averba, AverbaOptions } from '../../../src/index.ts'
import { type RunningServices, ShiftedClock } from '../../../src/simulation/index.ts'
import { averba, expectFailure, type RunningCommand, startCommand } from '../../support/command-line.ts'
import { configFile } from '../../support/config-file.ts'
import { applyPlan, deliver } from '../../support/portal.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openServices } from '../../support/world.ts'

const clock = new ShiftedClock()
let services: RunningServices
beforeEach(async () => {
  services = await openServices({ clock })
})

const delivered = [{ isDelivered: true }]
const start = (...configs: string[]) => startCommand(['run', ...configs.flatMap(config => ['--config', config])])

/** Every service, and a receiver with a handler. `handled` and `synced` get what happens. */
function configureAll(handled: string[] = [], synced: string[] = []): string {
  return configFile({
    ...services.options,
    store: temporaryStore(),
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] },
    subscriptions: [{ evento: 'e', chaveSecreta: 'segredo-canario' }],
    run: {
      port: 0,
      receiver: { port: 0, host: '127.0.0.1', certificate: services.receiver },
      async prepare(averba) {
        averba.notifications.handle('e', 'said', async ({ id }) => void handled.push(id))
        averba.on('subject.synced', ({ stream }) => synced.push(stream))
        await averba.consents.enrol({ cpf: services.samples.cpf }, { syncEveryMs: 60_000 })
        await applyPlan(averba)
      },
    },
  })
}

async function portOf(command: RunningCommand, message: string): Promise<number> {
  return JSON.parse(await command.line(`"message":"${message}"`)).port
}

test('averba run reads consents, receives and handles notifications, and stops on a signal', async () => {
  const [handled, synced]: [string[], string[]] = [[], []]
  const run = start(configureAll(handled, synced))
  const origin = `http://127.0.0.1:${await portOf(run, 'listening')}`
  const get = async (path: string, status = 200) => {
    const response = await fetch(`${origin}${path}`)
    expect(response.status).toBe(status)
    return response.text()
  }
  await get('/healthz')
  expect(await get('/readyz')).toContain('"ready":true')
  await get('/nothing', 404)
  expect((await fetch(`${origin}/readyz`, { method: 'POST' })).status).toBe(405)

  // Its first reading is pending since the person was enrolled, and goes without anybody asking.
  await expect.poll(() => synced).toHaveLength(1)

  services.connect('receptor.exemplo.br', await portOf(run, 'receiving'))
  expect(await deliver(services, {}, 'e')).toMatchObject(delivered)
  await expect.poll(() => handled).toHaveLength(1)
  await deliver(services, {}, 'e')

  const metrics = await get('/metrics')
  for (const sample of [
    /^averba_commit_seconds_count [1-9]/m,
    /^averba_attempts_total\{operation="consentService\.listConsents",outcome="settled"\} 1$/m,
    /^averba_notifications_received_total\{how="received"\} 1$/m,
    /^averba_notifications_received_total\{how="copied"\} 1$/m,
    /^averba_notification_answer_seconds_count\{status="200"\} 2$/m,
    /^averba_certificate_days_left\{certificate="certificate"\} \d+$/m,
    /^averba_ready 1$/m,
    /^nodejs_eventloop_lag_seconds /m,
  ])
    expect(metrics).toMatch(sample)
  const told = [metrics, await get('/healthz'), await get('/readyz'), ...run.lines()].join('\n')
  const secrets = [...Object.values(services.credentials), ...Object.values(services.portalHeaders)]
  for (const canary of [...secrets, 'segredo-canario', services.samples.cpf]) expect(told).not.toContain(canary)

  expect(await run.stop('SIGTERM')).toMatchObject({ code: 0, err: '' })
  const last = run.lines().slice(-2)
  expect(last.map(line => JSON.parse(line).message)).toEqual(['stopping', 'stopped'])
})

/** A log of its own, with a path, a secret and handlers of its own. */
function configureTenant(name: string, handled: string[] = [], more: { publicUrl?: string; cert?: string } = {}) {
  const { publicUrl = `https://${name}.exemplo.br/${name}`, cert = services.receiver.cert } = more
  const chaveSecreta = `segredo-${name}`
  const subscriptions = [
    { evento: `${name}-1`, chaveSecreta },
    { evento: `${name}-2`, chaveSecreta, endpoint: `${publicUrl}/dois` },
  ]
  const prepare = async (averba: Averba) => {
    for (const { evento } of subscriptions)
      averba.notifications.handle(evento, 'said', async n => void handled.push(`${name} ${n.evento}`))
    await applyPlan(averba)
  }
  const receiver = { port: 0, host: '127.0.0.1', certificate: { ...services.receiver, cert } }
  const { portal } = services.options
  const common = { store: temporaryStore(), portal, subscriptions, run: { port: 0, receiver, prepare } }
  return configFile({ ...common, receiver: { publicUrl, sources: ['127.0.0.0/8'] } }, name)
}

test('one averba run serves the receivers of several logs, distinguished by path', async () => {
  const handled: string[] = []
  const configs = [configureTenant('um', handled), configureTenant('dois', handled)]
  const run = start(...configs)
  const portsOf = (message: string) =>
    Promise.all(configs.map(async c => JSON.parse(await run.line(`"config":"${c}","message":"${message}"`)).port))
  const [one, two] = await portsOf('receiving')
  expect(one).toBe(two)
  for (const name of ['um', 'dois']) services.connect(`${name}.exemplo.br`, one)
  for (const evento of ['um-1', 'um-2', 'dois-1', 'dois-2'])
    expect(await deliver(services, { evento }, evento)).toMatchObject(delivered)
  await expect.poll(() => handled.toSorted()).toEqual(['dois dois-1', 'dois dois-2', 'um um-1', 'um um-2'])
  for (const port of await portsOf('listening'))
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
  expect(await run.stop('SIGTERM')).toMatchObject({ code: 0, err: '' })
  await portsOf('stopped')
})

test('two receivers with the same path, or with different certificates for one host name, are refused', async () => {
  const configs = ['um', 'dois'].map(name => configureTenant(name, [], { publicUrl: `https://${name}.br/averba` }))
  const both = /^MISCONFIGURED: .*um\.config\.ts and \S+dois\.config\.ts: both have the path "\/averba"/
  await expectFailure(averba('run', '--config', ...configs), both)
  const more = { publicUrl: 'https://um.exemplo.br/dois', cert: `${services.receiver.cert}\n` }
  const other = configureTenant('dois', [], more)
  const another = /^MISCONFIGURED: .*dois\.config\.ts: another receiver has another certificate for "um\.exemplo\.br"/
  await expectFailure(averba('run', '--config', configureTenant('um'), other), another)
})

test('work under way at a signal is finished and recorded', async () => {
  await services.faults.add({ kind: 'delay', ms: 9_000, service: 'consentService', times: 1 })
  const synced: string[] = []
  const run = start(configureAll([], synced))
  await expect.poll(() => services.requests.some(({ service }) => service === 'consentService')).toBe(true)
  const ended = run.stop('SIGTERM')
  await run.line('"message":"stopping"')
  expect(synced).toEqual([])
  await clock.advance(9_000)
  expect(await ended).toMatchObject({ code: 0 })
  expect(synced).toHaveLength(1)
})

test.each([
  ['configured without run.receiver, which is logged', { receiver: { publicUrl: 'https://r.exemplo.br' } }, 1],
  ['not configured, which is not logged', {}, 0],
])('a receiver is %s', async (_, receiver, lines) => {
  const run = start(configFile({ store: ':memory:', run: { port: 0 }, ...receiver }))
  await run.line('"message":"listening"')
  expect((await run.stop('SIGTERM')).code).toBe(0)
  const said = run.lines().filter(line => line.includes('the receiver is not served by this process'))
  expect(said).toHaveLength(lines)
  if (lines > 0) expect(JSON.parse(said[0] ?? '').detail).toContain('set run.receiver')
})

test.each<[string, AverbaOptions, RegExp]>([
  ['with an invalid option', { store: '' }, /^MISCONFIGURED: Cannot use store: it is missing/],
  ['when it cannot listen', { store: ':memory:', run: { host: '203.0.113.7', port: 1 } }, /EADDRNOTAVAIL/],
])('%s averba run does not start, and prints why', async (_, options, said) => {
  await expectFailure(averba('run', '--config', configFile(options)), said)
})
