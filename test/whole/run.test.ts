import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { SimulationAddresses } from '../../src/cli/commands/simulate.ts'
import { type RunningCommand, startCommand } from './run-averba.ts'

// Only files inside the package can import it by its name.
const scratch = resolve(import.meta.dirname, '../../.averba')
mkdirSync(scratch, { recursive: true })
const folders: string[] = []
const running: RunningCommand[] = []

afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL')
  await Promise.all(running.splice(0).map(({ ended }) => ended))
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

function start(cwd: string, args: readonly string[]): RunningCommand {
  const started = startCommand(cwd, args)
  running.push(started)
  return started
}

function newFolder(): string {
  const folder = mkdtempSync(join(scratch, 'run-'))
  folders.push(folder)
  return folder
}

async function startServices(cwd: string): Promise<SimulationAddresses> {
  return JSON.parse(await start(cwd, ['simulate', '--json']).line('{'))
}

/** A handwritten configuration: every service of a simulation, a receiver, and a handler. */
function configure(folder: string, at: SimulationAddresses, more = ''): void {
  const { consentService, tokenService, validationService, portal } = at
  writeFileSync(
    join(folder, 'averba.config.ts'),
    `import { readFileSync } from 'node:fs'
    import { defineConfig, staticHeaders } from 'averba'
    const textOf = (path: string) => readFileSync(path, 'utf8')
    const ca = textOf('${at.ca}')
    export default defineConfig({
      store: 'log.sqlite',
      consentService: {
        baseUrl: '${consentService.baseUrl}', ca,
        certificate: () => ({ cert: textOf('${consentService.cert}'), key: textOf('${consentService.key}') }),
      },
      tokenService: { ...${JSON.stringify(tokenService)}, ca },
      validationService: { ...${JSON.stringify(validationService)}, ca },
      portal: { baseUrl: '${portal.baseUrl}', ca, authenticate: staticHeaders(${JSON.stringify(portal.headers)}) },
      receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] },
      subscriptions: [{ evento: 'e', chaveSecreta: 'segredo-canario' }],
      run: {
        port: 0,
        receiver: {
          port: 0, host: '127.0.0.1',
          certificate: { cert: textOf('${at.receiver.cert}'), key: textOf('${at.receiver.key}') },
        },
        async prepare(averba) {
          averba.notifications.handle('e', 'said', async ({ id }) => console.log('handled ' + id))
          const subject = await averba.consents.enrol({ cpf: '${at.samples.cpf}' }, { syncEveryMs: 60_000, commandId: 'e1' })
          averba.on('subject.synced', () => console.log('synced ' + subject))
          for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) console.log(each.status)
          ${more}
        },
      },
    })`,
  )
}

async function portOf(run: RunningCommand, message: string): Promise<number> {
  return JSON.parse(await run.line(`"message":"${message}"`)).port
}

/** A handler that never ends. */
const stuck = `averba.log.follow('stuck', ['subject.enrolled'], () => new Promise(() => console.log('stuck')))`

test('averba run reads consents, receives and handles notifications, and stops on a signal', async () => {
  const folder = newFolder()
  const at = await startServices(folder)
  configure(folder, at)
  const run = start(folder, ['run'])
  const origin = `http://127.0.0.1:${await portOf(run, 'listening')}`
  const get = async (path: string) => {
    const response = await fetch(`${origin}${path}`)
    return { status: response.status, text: await response.text() }
  }
  expect(await get('/healthz')).toMatchObject({ status: 200 })
  expect(await get('/readyz')).toMatchObject({ status: 200, text: expect.stringContaining('"ready":true') })
  expect(await get('/nothing')).toMatchObject({ status: 404 })
  expect((await fetch(`${origin}/readyz`, { method: 'POST' })).status).toBe(405)

  // The first reading is pending since the enrolment, and is sent automatically.
  await run.line('synced ')

  const to = `127.0.0.1:${await portOf(run, 'receiving')}`
  const control = (path: string, body: object) =>
    fetch(`${at.control.baseUrl}${path}`, { method: 'POST', body: JSON.stringify(body) })
  await control('/connect-to', { from: 'receptor.exemplo.br:443', to })
  const notice = { evento: 'e', destinatarioTipo: 'CNPJ', destinatarioId: at.samples.cnpj, body: { n: 1 } }
  expect(await (await control('/notifications', notice)).json()).toMatchObject({
    deliveries: [{ isDelivered: true }],
  })
  await run.line('handled ')
  await control('/notifications', notice)

  const metrics = await get('/metrics')
  expect(metrics.status).toBe(200)
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
    expect(metrics.text).toMatch(sample)
  const told = [metrics.text, (await get('/healthz')).text, (await get('/readyz')).text, ...run.lines]
  const { consumerKey, consumerSecret } = at.tokenService
  const secrets = [consumerKey, consumerSecret, 'segredo-canario', ...Object.values(at.portal.headers)]
  for (const canary of [...secrets, at.samples.cpf]) expect(told.join('\n')).not.toContain(canary)

  run.child.kill('SIGTERM')
  expect(await run.ended).toBe(0)
  const messages = run.lines.flatMap(line => (line.startsWith('{') ? [JSON.parse(line).message] : []))
  expect(messages.slice(-2)).toEqual(['stopping', 'stopped'])
  expect(run.said()).toBe('')
})

/** Another log, with its own path, secret and handler. */
function configureTenant(folder: string, at: SimulationAddresses, name: string, path = `/${name}`): void {
  writeFileSync(
    join(folder, `${name}.config.ts`),
    `import { readFileSync } from 'node:fs'
    import { defineConfig, staticHeaders } from 'averba'
    const textOf = (path: string) => readFileSync(path, 'utf8')
    export default defineConfig({
      store: '${name}.sqlite',
      portal: {
        baseUrl: '${at.portal.baseUrl}', ca: textOf('${at.ca}'),
        authenticate: staticHeaders(${JSON.stringify(at.portal.headers)}),
      },
      receiver: { publicUrl: 'https://${name}.exemplo.br${path}', sources: ['127.0.0.0/8'] },
      subscriptions: [
        { evento: '${name}-1', chaveSecreta: 'segredo-${name}' },
        { evento: '${name}-2', chaveSecreta: 'segredo-${name}', endpoint: 'https://${name}.exemplo.br${path}/dois' },
      ],
      run: {
        port: 0,
        receiver: {
          port: 0, host: '127.0.0.1',
          certificate: { cert: textOf('${at.receiver.cert}'), key: textOf('${at.receiver.key}') },
        },
        async prepare(averba) {
          for (const evento of ['${name}-1', '${name}-2'])
            averba.notifications.handle(evento, 'said', async n => console.log('${name} handled ' + n.evento))
          for (const each of await averba.subscriptions.apply(await averba.subscriptions.plan())) console.log(each.status)
        },
      },
    })`,
  )
}

test('one averba run serves the receivers of several logs, distinguished by path', async () => {
  const folder = newFolder()
  const at = await startServices(folder)
  for (const name of ['um', 'dois']) configureTenant(folder, at, name)
  const run = start(folder, ['run', '--config', 'um.config.ts', '--config', 'dois.config.ts'])
  const lineOf = async (config: string, message: string) =>
    JSON.parse(await run.line(`"config":"${config}.config.ts","message":"${message}"`))
  const [one, two] = [await lineOf('um', 'receiving'), await lineOf('dois', 'receiving')]
  expect(one.port).toBe(two.port)
  const control = (path: string, body: object) =>
    fetch(`${at.control.baseUrl}${path}`, { method: 'POST', body: JSON.stringify(body) })
  for (const name of ['um', 'dois'])
    await control('/connect-to', { from: `${name}.exemplo.br:443`, to: `127.0.0.1:${one.port}` })
  const recipient = { destinatarioTipo: 'CNPJ', destinatarioId: at.samples.cnpj }
  for (const evento of ['um-1', 'um-2', 'dois-1', 'dois-2']) {
    const sent = await control('/notifications', { evento, ...recipient, body: { evento } })
    expect(await sent.json()).toMatchObject({ deliveries: [{ isDelivered: true }] })
    await run.line(`${evento.slice(0, -2)} handled ${evento}`)
  }
  expect(run.lines.filter(line => line.includes(' handled '))).toHaveLength(4)
  const readied: unknown[] = []
  for (const name of ['um', 'dois']) {
    const { port } = await lineOf(name, 'listening')
    readied.push((await fetch(`http://127.0.0.1:${port}/readyz`)).status)
  }
  expect(readied).toEqual([200, 200])
  run.child.kill('SIGTERM')
  expect(await run.ended).toBe(0)
  for (const name of ['um', 'dois']) await lineOf(name, 'stopped')
  expect(run.said()).toBe('')
})

test('two receivers with the same path are refused', async () => {
  const folder = newFolder()
  const at = await startServices(folder)
  for (const name of ['um', 'dois']) configureTenant(folder, at, name, '/averba')
  const run = start(folder, ['run', '--config', 'um.config.ts', 'dois.config.ts'])
  expect(await run.ended).toBe(1)
  expect(run.said()).toMatch(/^MISCONFIGURED: .*um\.config\.ts and dois\.config\.ts: both have the path "\/averba"/)
})

test('two receivers with different certificates for one host name are refused', async () => {
  const folder = newFolder()
  const at = await startServices(folder)
  configureTenant(folder, at, 'um')
  const other = readFileSync(join(folder, 'um.config.ts'), 'utf8')
    .replaceAll('um.sqlite', 'dois.sqlite')
    .replaceAll('um.exemplo.br/', 'um.exemplo.br/dois/')
    .replace(/cert: (textOf\([^)]*\))/, "cert: $1 + '\\n'")
  writeFileSync(join(folder, 'dois.config.ts'), other)
  const run = start(folder, ['run', '--config', 'um.config.ts', 'dois.config.ts'])
  expect(await run.ended).toBe(1)
  expect(run.said()).toMatch(
    /^MISCONFIGURED: .*dois\.config\.ts: another receiver has another certificate for "um\.exemplo\.br"/,
  )
})

test('averba doctor checks the same configuration, and its exit code shows the result', async () => {
  const folder = newFolder()
  const services = start(folder, ['simulate', '--json'])
  configure(folder, JSON.parse(await services.line('{')))
  const well = start(folder, ['doctor'])
  expect(await well.ended).toBe(0)
  expect(well.lines).toContainEqual(expect.stringMatching(/^ok +consentService +it answered within \d+ ms$/))
  expect(well.lines).toContainEqual(expect.stringMatching(/^ok +receiverCertificate +it ends in \d+ days$/))
  expect(well.lines.at(-1)).toBe('No problems.')
  const asked = start(folder, ['doctor', '--json', '--token'])
  expect(await asked.ended).toBe(0)
  expect(JSON.parse(asked.lines[0] ?? '').checks).toContainEqual({
    name: 'token',
    ok: true,
    detail: 'the gateway issued a token',
  })

  services.child.kill('SIGKILL')
  await services.ended
  const gone = start(folder, ['doctor', '--json'])
  expect(await gone.ended).toBe(1)
  const wrong = JSON.parse(gone.lines[0] ?? '').checks.filter((each: { ok: boolean }) => !each.ok)
  expect(wrong.map((each: { name: string }) => each.name)).toEqual([
    ...['consentService', 'tokenService', 'validationService', 'portal'],
  ])
  writeFileSync(join(folder, 'averba.config.ts'), 'export default undefined')
  const none = start(folder, ['doctor', '--json'])
  expect(await none.ended).toBe(1)
  expect(JSON.parse(none.lines[0] ?? '')).toMatchObject({ ok: false, checks: [{ name: 'configuration' }] })
})

test('work under way at a signal is finished and recorded', async () => {
  const folder = newFolder()
  const at = await startServices(folder)
  const control = (path: string, body: object) =>
    fetch(`${at.control.baseUrl}${path}`, { method: 'POST', body: JSON.stringify(body) })
  await control('/faults', { kind: 'delay', ms: 9_000, service: 'consentService', times: 1 })
  configure(folder, at)
  const run = start(folder, ['run'])
  await expect
    .poll(async () => await (await fetch(`${at.control.baseUrl}/requests`)).text(), { timeout: 20_000 })
    .toContain('"consentService"')
  run.child.kill('SIGTERM')
  await run.line('"message":"stopping"')
  expect(run.lines.join('\n')).not.toContain('synced ')
  await control('/clock/advance', { ms: 9_000 })
  await run.line('synced ')
  expect(await run.ended).toBe(0)
})

test('a second signal stops averba run at once', async () => {
  const folder = newFolder()
  configure(folder, await startServices(folder), stuck)
  const run = start(folder, ['run'])
  await run.line('stuck')
  run.child.kill('SIGINT')
  await run.line('"signal":"SIGINT"')
  run.child.kill('SIGTERM')
  expect(await run.ended).toBe(143)
  expect(run.lines.join('\n')).not.toContain('"stopped"')
})

test.each([
  ['configured without run.receiver, which is logged', ", receiver: { publicUrl: 'https://r.exemplo.br' }", 1],
  ['not configured, which is not logged', '', 0],
])('a receiver is %s', async (_, receiver, lines) => {
  const folder = newFolder()
  const options = `{ store: ':memory:', run: { port: 0 }${receiver} }`
  writeFileSync(join(folder, 'averba.config.ts'), `export default ${options}`)
  const run = start(folder, ['run'])
  await run.line('"message":"listening"')
  run.child.kill('SIGTERM')
  expect(await run.ended).toBe(0)
  const said = run.lines.filter(line => line.includes('the receiver is not served by this process'))
  expect(said).toHaveLength(lines)
  if (lines > 0) expect(JSON.parse(said[0] ?? '').detail).toContain('set run.receiver')
})

test.each([
  ['without a configuration', undefined, 1, /^NOT_FOUND: .*\n.*averba init/],
  ['with an invalid option', `{ store: '' }`, 1, /^MISCONFIGURED: .*store is missing/],
  ['when it cannot listen', `{ store: ':memory:', run: { host: '203.0.113.7', port: 1 } }`, 1, /EADDRNOTAVAIL/],
  [
    'with a prepare function that throws',
    `{ store: ':memory:', run: { port: 0, prepare() { throw new TypeError('x') } } }`,
    70,
    /^This is a bug/,
  ],
])('%s averba run does not start, and prints why', async (_, options, code, said) => {
  const folder = newFolder()
  if (options !== undefined) writeFileSync(join(folder, 'averba.config.ts'), `export default ${options}`)
  const run = start(folder, ['run'])
  expect(await run.ended).toBe(code)
  expect(run.said()).toMatch(said)
})

test('averba run continues when its output pipe is closed, and stops only on a signal', async () => {
  const folder = newFolder()
  const config = `import { defineConfig } from 'averba'
    const prepare = async () => void process.on('SIGUSR2', () => console.log('a line'))
    export default defineConfig({ store: 'log.sqlite', run: { port: 0, prepare } })`
  writeFileSync(join(folder, 'averba.config.ts'), config)
  const run = start(folder, ['run'])
  const origin = `http://127.0.0.1:${await portOf(run, 'listening')}`
  run.child.stdout?.destroy()
  run.child.kill('SIGUSR2')
  await expect.poll(run.said).toContain('Cannot write the output (EPIPE): continuing without it')
  expect((await fetch(`${origin}/healthz`)).status).toBe(200)
  run.child.kill('SIGTERM')
  expect(await run.ended).toBe(0)
})
