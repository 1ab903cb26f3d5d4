import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startServices } from '../../src/simulation/index.ts'

const root = resolve(import.meta.dirname, '../..')
const main = join(root, 'src/cli/main.ts')
// Only files inside the package can import it by its name.
mkdirSync(join(root, '.averba'), { recursive: true })
const folder = mkdtempSync(join(root, '.averba', 'subscriptions-'))
const secret = 'um-segredo-que-nao-se-mostra'

let services: Awaited<ReturnType<typeof startServices>>
beforeAll(async () => {
  services = await startServices()
})
afterAll(async () => {
  await services.close()
  rmSync(folder, { recursive: true })
})

interface Ended {
  readonly code: number
  readonly out: string
  readonly error: string
}

/** Runs a command in the folder of the configuration. */
function averba(...args: string[]): Promise<Ended> {
  return new Promise(done => {
    const given = ['--conditions=averba-source', main, ...args]
    execFile(process.execPath, given, { cwd: folder }, (error, out, text) => {
      done({ code: error ? Number(error.code) : 0, out: out.trim(), error: text })
    })
  })
}

function configure(
  eventos: readonly string[],
  name = 'averba.config.ts',
  portal: typeof services.options.portal = services.options.portal,
): void {
  const declared = eventos.map(evento => ({ evento, chaveSecreta: secret }))
  writeFileSync(
    join(folder, name),
    `import { defineConfig, staticHeaders } from 'averba'
    export default defineConfig({
      store: 'log.sqlite',
      portal: {
        baseUrl: '${portal.baseUrl}',
        knownAs: '${services.options.portal.baseUrl}',
        ca: ${JSON.stringify(portal.ca)},
        authenticate: staticHeaders(${JSON.stringify(services.portalHeaders)}),
      },
      receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
      subscriptions: ${JSON.stringify(declared)},
    })`,
  )
}

/** Another program of the same user subscribes. */
async function subscribeElsewhere(evento: string): Promise<void> {
  const request = new Request(`${services.options.portal.baseUrl}/portal/api/ext/webhook`, {
    method: 'POST',
    headers: { ...services.portalHeaders, 'content-type': 'application/json' },
    body: JSON.stringify({ evento, endpoint: 'https://outro.exemplo.br/' }),
  })
  expect((await services.reach.portal(request)).status).toBe(200)
}

test('plan, apply and failures work from a configuration to the declared subscriptions', async () => {
  configure(['um', 'dois'])
  const planned = await averba('plan')
  expect(planned).toMatchObject({ code: 2 })
  expect(planned.out).toMatch(
    /^create um https:.* \(the portal does not have it\)\ncreate dois .*\n2 changes\. To apply exactly this plan: averba apply --hash [0-9a-f]{64}$/,
  )
  const hash = planned.out.split(' ').at(-1) ?? ''

  // Another program changes something meanwhile: the plan is outdated.
  await subscribeElsewhere('alheio')
  expect(await averba('apply', '--hash', hash)).toMatchObject({
    code: 1,
    error: expect.stringContaining('STALE_PLAN'),
  })
  const again = await averba('plan', '--json')
  expect(again.code).toBe(2)
  writeFileSync(join(folder, 'plan.json'), again.out)
  const applied = await averba('apply', '--plan', 'plan.json')
  expect(applied).toMatchObject({ code: 0 })
  expect(applied.out).toMatch(/^plan [0-9a-f]{64}\nsettled: create um .*\nsettled: create dois /)
  expect(await averba('plan')).toMatchObject({ code: 0, out: expect.stringMatching(/Nothing to do\.$/) })

  // An undeclared subscription is deleted only with permission.
  configure(['um', 'alheio'])
  const fewer = await averba('plan')
  expect(fewer.out).toMatch(/taken alheio .*\ndelete dois /)
  expect(await averba('apply')).toMatchObject({ code: 1, error: expect.stringContaining('PLAN_DELETES') })
  expect(await averba('apply', '--allow-deletions')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/\nsettled: delete dois \S+$/),
  })

  // A subscription of another program is left alone, unless takeOver is given.
  expect(await averba('plan')).toMatchObject({ code: 0, out: expect.stringContaining('taken alheio') })
  expect(await averba('plan', '--take-over')).toMatchObject({ code: 2 })
  const taken = await averba('apply', '--take-over', '--json')
  expect(taken.code).toBe(0)
  expect(JSON.parse(taken.out)).toMatchObject({
    applied: [{ status: 'settled', change: { evento: 'alheio', isTaken: true } }],
  })
  expect(await averba('plan', '--take-over')).toMatchObject({ code: 0 })

  // No server listens at the endpoint: the delivery fails, and its content is recovered into the inbox.
  const notice = { evento: 'um', destinatarioTipo: 'CNPJ', destinatarioId: services.samples.cnpj } as const
  expect(await services.portal.notify({ ...notice, body: { numero: '26BR1' } })).toMatchObject([{ isDelivered: false }])
  const read = await averba('failures')
  expect(read).toMatchObject({
    code: 0,
    out: expect.stringMatching(/ um \d+ .*\(inbox not checked\)\n1 failed delivery\.$/),
  })
  expect(read.out).not.toContain('26BR1')
  const recovered = JSON.parse((await averba('failures', '--recover', '--json')).out)
  expect(recovered.failures).toMatchObject([{ recovery: 'recovered', conteudo: '{"numero":"26BR1"}' }])
  // Brasilia is three hours behind UTC: a day ago by UTC is a day there that has begun.
  const yesterday = new Date(Date.now() - 27 * 3_600_000).toISOString().slice(0, 10)
  expect(await averba('failures', '--day', yesterday)).toMatchObject({ out: 'No delivery failed.' })
  expect(await averba('failures', '--day', '2020-01-01')).toMatchObject({
    code: 1,
    error: expect.stringContaining('INVALID_INPUT'),
  })

  for (const each of [planned, again, applied, fewer, taken, read]) expect(each.out + each.error).not.toContain(secret)
})

test('an event that the portal declines gives exit code 1, and the other events are done', async () => {
  configure(['tres', 'quatro'], 'two.config.ts')
  await services.faults.add({ kind: 'status', status: 422, method: 'POST', service: 'portal', times: 1 })
  const { code, out } = await averba('apply', '--config', 'two.config.ts', '--allow-deletions')
  expect(code).toBe(1)
  expect(out).toMatch(/declined: create tres .* \(422; --json prints the portal's own words\)\nsettled: create quatro /)
})

/** A portal whose texts have terminal escapes, direction marks and invisible characters. */
async function startHostilePortal(hostile: string): Promise<string> {
  const failure = {
    id: 1,
    data: '2026-11-20T09:00:00',
    descricao: hostile,
    evento: `e${hostile}`,
    conteudo: '{}',
  }
  const listed = {
    id: 2,
    evento: `a${hostile}`,
    endpoint: `https://outro.exemplo.br/${hostile}`,
    secrets: {},
  }
  const server = createServer({ ...services.receiver }, ({ method, url = '' }, response) => {
    const isDeclined = method === 'POST'
    response.writeHead(isDeclined ? 422 : 200, { 'content-type': 'application/json' })
    const rows = url.includes('/falhas') ? [failure] : [listed]
    response.end(JSON.stringify(isDeclined ? { title: hostile } : rows))
  })
  await new Promise<void>(done => server.listen(0, 'localhost', done))
  onTestFinished(() => new Promise(done => server.close(() => done())))
  return `https://localhost:${(server.address() as AddressInfo).port}` // Of a server on a port.
}

test('control characters in texts of the portal are printed as codes, and start no new line', async () => {
  const hostile = '\u001b[2J\u009b1m\u202e\u200b\u{e0041}\nsettled: all\u2028\r'
  const shown = '\\u001b[2J\\u009b1m\\u202e\\u200b\\udb40\\udc41\\u000asettled: all\\u2028\\u000d'
  const portal = { ...services.options.portal, baseUrl: await startHostilePortal(hostile) }
  configure(['um'], 'hostile.config.ts', portal)
  for (const args of [['plan'], ['apply'], ['failures']]) {
    const { out, error } = await averba(...args, '--config', 'hostile.config.ts')
    // The portal's own words of a decline are shown with --json only.
    expect(out.includes(shown), args[0]).toBe(args[0] !== 'apply')
    expect(out + error, args[0]).not.toMatch(/[^\P{C}\n]|[\u2028]|^settled/mu)
    const { out: json } = await averba(...args, '--json', '--config', 'hostile.config.ts')
    expect(json).not.toMatch(/\p{C}/u)
    expect(JSON.stringify(JSON.parse(json))).toContain(JSON.stringify(hostile).slice(1, -1))
  }
})

test.each([
  ['is missing', 'no.config.ts', undefined, /NOT_FOUND: Cannot load ".*": the file is missing\n.*averba init/],
  ['exports nothing', 'empty.config.ts', 'export {}', /MISCONFIGURED: .*exports no options by default/],
  [
    'lacks a variable',
    'variable.config.ts',
    "throw new Error('The environment variable AVERBA_X is not set')",
    /MISCONFIGURED: .*AVERBA_X is not set\nSet what is missing/,
  ],
  [
    'cannot be read as a module',
    'syntax.config.ts',
    'export default {',
    /^MISCONFIGURED: .*it throws SyntaxError\nIts package.json has to say "type": "module". To see /,
  ],
  [
    'imports a missing package',
    'package.config.ts',
    "import 'no-such-package'",
    /^MISCONFIGURED: Cannot load ".*": a package or file that it imports is missing\nInstall averba/,
  ],
  [
    'fails with a secret in its message',
    'failing.config.ts',
    `throw new TypeError('${secret}')`,
    /^MISCONFIGURED: Cannot load ".*": it throws TypeError\nTo see .*: node ".*failing.config.ts"\n$/,
  ],
])('a configuration that %s is reported, with exit code 1', async (_, name, text, error) => {
  if (text !== undefined) writeFileSync(join(folder, name), text)
  expect(await averba('plan', '--config', name)).toMatchObject({
    code: 1,
    error: expect.stringMatching(error),
  })
})

test('an invalid plan, or two plans, are refused', async () => {
  writeFileSync(join(folder, 'none.json'), '{}')
  expect(await averba('apply', '--plan', 'none.json')).toMatchObject({
    code: 1,
    error: expect.stringContaining('it has no hash'),
  })
  expect(await averba('apply', '--plan', 'nowhere.json')).toMatchObject({
    code: 1,
    error: expect.stringMatching(/it is missing or not JSON\nWrite one with: averba plan --json/),
  })
  expect(await averba('apply', '--plan', 'none.json', '--hash', 'a')).toMatchObject({ code: 1 })
})
