import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startCommand } from '../support/command-line.ts'
import { root, run } from '../support/run-script.ts'
import { Sqlite } from '../support/sqlite.ts'
import { startExample } from '../support/start-example.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test.each(['Node', 'Deno'])('an identity is checked once for each id, from a script on %s', async RUNTIME => {
  const { output } = startExample('identity-check.ts', ['order-1', 'order-1'], { RUNTIME })
  expect(await output()).toEqual([
    'order-1 settled asked now',
    ...['  nome match', '  sexo match'],
    'order-1 settled answered before: nothing was paid',
    ...['  nome match', '  sexo match'],
  ])
})

test('a consent manager behind Fastify gives receipts, and uses nothing after a revocation', async () => {
  const { next, end, output } = startExample('consent-manager.ts')
  const lines = [await next(), await next()]
  const [ofAverba, { msg }] = lines.map(line => JSON.parse(line))
  expect(ofAverba).toMatchObject({ level: 30, msg: expect.stringMatching(/^a keyring was created/) })
  const call = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${msg.split(' ').at(-1)}${path}`, { method: 'POST', ...init })
    const text = await answer.text()
    return { status: answer.status, text, json: text.startsWith('{') ? JSON.parse(text) : undefined }
  }
  const cpf = '25774435016'
  const enrol = (body: string) => call('/subjects', { headers: { 'content-type': 'application/json' }, body })
  expect(await enrol('{')).toMatchObject({ status: 400, json: { code: 'BAD_REQUEST' } })
  expect(await enrol('{"cpf":"123"}')).toMatchObject({ status: 400, json: { code: 'INVALID_CPF' } })
  const { json } = await enrol(JSON.stringify({ cpf }))
  const { id } = json.consents.find((each: { status: string }) => each.status === 'ATIVO')
  const consent = `/subjects/${json.subject}/consents/${id}`
  expect((await call(`${consent}/use`)).json).toMatchObject({ effective: true })
  expect(await call(`${consent}/revocation`)).toMatchObject({ status: 400 })
  const headers = { 'idempotency-key': 'r-1' }
  const first = await call(`${consent}/revocation`, { headers })
  expect(first).toMatchObject({ status: 200, json: { status: 'settled' } })
  expect((await call(`${consent}/revocation`, { headers })).json).toEqual(first.json)
  expect(await call(`${consent}/use`)).toMatchObject({ status: 403, json: { code: 'CONSENT_NOT_EFFECTIVE' } })
  expect((await call(`${consent}/receipt`, { method: 'GET' })).text).toContain('<html lang="pt-BR">')
  expect(await call('/readyz', { method: 'GET' })).toMatchObject({ status: 200, json: { ready: true } })
  expect((await call(`/${cpf}`)).status).toBe(404)
  const { text: metrics } = await call('/metrics', { method: 'GET' })
  expect(metrics).toContain('averba_attempts_total{operation="consentService.changeStatus",outcome="settled"} 1\n')
  expect(metrics).toMatch(/^averba_ready 1\n[\s\S]*^averba_check_ok\{check="consents"\} 1\n/m)
  await end()
  lines.push(...(await output()))
  expect(lines.join()).toContain('"error":"CONSENT_NOT_EFFECTIVE"')
  expect(`${metrics}${lines}`).not.toContain(cpf)
})

/** Posts a notification as the portal does, and returns the status of the answer. */
async function postNotification(url: string, secret: string, more: Record<string, string> = {}): Promise<number> {
  const headers = {
    ...{ 'event-type': 'dimp-situacao-import', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '1' },
    ...{ 'content-type': 'application/json', secret, ...more },
  }
  const body = JSON.stringify({ numero: '26BR1', situacao: 'REGISTRADA' })
  return (await fetch(url, { method: 'POST', headers, body })).status
}

test('an inbox behind Express has each notification once in the database of its host', async () => {
  const { next, end, folder } = startExample('customs-inbox.ts', [], { HOOK_SECRET: 'do-teste' })
  const { subscribed, address } = JSON.parse(await next())
  expect(subscribed).toBe('settled')
  // As the one proxy in front does.
  const forwarded = { 'x-forwarded-for': '127.0.0.1' }
  const deliver = (secret: string) => postNotification(`http://127.0.0.1:${address.port}/averba`, secret, forwarded)
  expect(await deliver('outro')).toBe(401)
  expect([await deliver('do-teste'), await deliver('do-teste')]).toEqual([200, 200])
  expect(await next()).toBe('26BR1 is REGISTRADA')
  await end()
  const own = new Sqlite(join(folder, 'broker.sqlite'), { readOnly: true })
  const rows = own.prepare('select number, status from declaration').all()
  expect(rows).toEqual([{ number: '26BR1', status: 'REGISTRADA' }])
  own.close()
})

test('a NestJS application injects averba, mounts its receiver before the parsers, and closes it at the end', async () => {
  const { next, end, folder } = startExample('nestjs.ts', [], { HOOK_SECRET: 'do-teste' })
  const { url, subject } = JSON.parse(await next())
  const consents: { status: string }[] = await (await fetch(`${url}/subjects/${subject}/consents`)).json()
  expect(consents.map(({ status }) => status).sort()).toEqual(['ATIVO', 'ATIVO', 'PENDENTE', 'PENDENTE'])
  expect(await postNotification(`${url}/averba`, 'outro')).toBe(401)
  expect(await postNotification(`${url}/averba`, 'do-teste')).toBe(200)
  expect(await next()).toBe('26BR1 is REGISTRADA')
  await end()
  // Closed, and not left behind.
  expect(existsSync(join(folder, 'nestjs.sqlite'))).toBe(true)
  expect(existsSync(join(folder, 'nestjs.sqlite-wal'))).toBe(false)
})

test('Python, strict about certificates, reads consents from the simulated service over mutual TLS', async () => {
  const simulator = startCommand(['simulate', '--json'])
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'services.json'), `${await simulator.line('consentService')}\n`)
  const args = [join(root, 'examples/simulator.py'), 'services.json']
  const { stdout } = await run('python3', args, { cwd: folder })
  expect(stdout.trim().split('\n').sort()).toEqual(['ATIVO', 'ATIVO', 'PENDENTE', 'PENDENTE'])
})
