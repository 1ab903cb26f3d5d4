import { writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startServices } from '../../../src/simulation/index.ts'
import { averba, averbaJson, expectFailure, expectOutput } from '../../support/command-line.ts'
import { configFile } from '../../support/config-file.ts'
import { listenUntilEnd } from '../../support/listen-until-end.ts'
import { callPortal, deliver } from '../../support/portal.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder()
const secret = 'um-segredo-que-nao-se-mostra'

const services = await startServices()
afterAll(() => services.close())

/** Writes a configuration that declares subscriptions, always for the same log. */
function declare(eventos: readonly string[], portal = services.options.portal): string[] {
  const { baseUrl: knownAs } = services.options.portal
  const subscriptions = eventos.map(evento => ({ evento, chaveSecreta: secret }))
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }
  const common = { store: join(folder, 'log.sqlite'), receiver, subscriptions }
  return ['--config', configFile({ ...common, portal: { ...portal, knownAs } })]
}

test('plan, apply and failures work from a configuration to the declared subscriptions', async () => {
  const both = declare(['um', 'dois'])
  const creates = /^create um https:.* \(the portal does not have it\)\ncreate dois .*\n2 changes\. To apply exactly/
  const planned = await expectOutput(averba('plan', ...both), creates, 2)
  expect(planned.out).toMatch(/ this plan: averba apply --config \S+ --hash [0-9a-f]{64}\n$/)
  const hash = planned.out.trim().split(' ').at(-1) ?? ''

  // Somebody else comes in between: this very plan is no longer it.
  const taken = { evento: 'alheio', endpoint: 'https://outro.exemplo.br/' }
  await callPortal(services, 'POST', taken, '', services.portalHeaders)
  await expectFailure(averba('apply', '--hash', hash, ...both), 'STALE_PLAN')
  const again = await expectOutput(averba('plan', '--json', ...both), '', 2)
  const file = join(folder, 'plan.json')
  writeFileSync(file, again.out)
  const made = /^plan [0-9a-f]{64}\nsettled: create um .*\nsettled: create dois /
  const applied = await expectOutput(averba('apply', '--plan', file, ...both), made)
  await expectOutput(averba('plan', ...both), /Nothing to do\.\n$/)

  // What is declared no more is deleted with leave only.
  const other = declare(['um', 'alheio'])
  const fewer = await expectOutput(averba('plan', ...other), /taken alheio .*\ndelete dois /, 2)
  await expectFailure(averba('apply', ...other), 'PLAN_DELETES')
  await expectOutput(averba('apply', '--allow-deletions', ...other), /\nsettled: delete dois \S+\n$/)

  // A taken event is nothing to do, unless it is to be taken over.
  await expectOutput(averba('plan', ...other), 'taken alheio')
  await expectOutput(averba('plan', '--take-over', ...other), '', 2)
  const over = await expectOutput(averba('apply', '--take-over', '--json', ...other), '')
  const change = { evento: 'alheio', isTaken: true }
  expect(JSON.parse(over.out)).toMatchObject({ applied: [{ status: 'settled', change }] })
  await expectOutput(averba('plan', '--take-over', ...other), '')

  // Nothing listens at the endpoint: the delivery fails, and its content comes into the inbox.
  expect(await deliver(services, { numero: '26BR1' }, 'um')).toMatchObject([{ isDelivered: false }])
  const unchecked = / um \d+ .*\(inbox not checked\)\n1 failed delivery\.\n$/
  const read = await expectOutput(averba('failures', ...other), unchecked)
  expect(read.out).not.toContain('26BR1')
  const recovered = await averbaJson('failures', '--recover', ...other)
  expect(recovered.failures).toMatchObject([{ recovery: 'recovered' }])
  expect(JSON.stringify(recovered)).not.toContain('26BR1')
  // Brasilia is three hours behind: a day ago by UTC is a day of hers that has begun.
  const yesterday = new Date(Date.now() - 27 * 3_600_000).toISOString().slice(0, 10)
  // As every day, also as it is written in Brazil.
  const inBrazil = yesterday.split('-').reverse().join('/')
  expect(await averba('failures', '--day', inBrazil, ...other)).toMatchObject({ out: 'No delivery failed.\n' })
  await expectOutput(averba('subscriptions', 'recover', inBrazil, ...other), `\n${yesterday}: 0 notifications`)
  await expectFailure(averba('failures', '--day', '01/01/2020', ...other), 'the portal does not have this day')

  for (const each of [planned, again, applied, fewer, over, read]) expect(each.out + each.err).not.toContain(secret)
})

test('an event that the portal declines gives exit code 1, and the other events are done', async () => {
  const config = declare(['tres', 'quatro'])
  await services.faults.add({ kind: 'status', status: 422, method: 'POST', service: 'portal', times: 1 })
  const words = /declined: create tres .* \(422; --json prints the portal's own words\)\nsettled: create quatro /
  await expectOutput(averba('apply', ...config, '--allow-deletions'), words, 1)
})

/** A portal in whose texts stands what a terminal would obey, and what turns text around or cannot be seen. */
async function startHostilePortal(hostile: string): Promise<string> {
  const failure = { id: 1, data: '2026-11-20T09:00:00', descricao: hostile, evento: `e${hostile}`, conteudo: '{}' }
  const listed = { id: 2, evento: `a${hostile}`, endpoint: `https://outro.exemplo.br/${hostile}`, secrets: {} }
  const server = createServer({ ...services.receiver }, ({ method, url = '' }, response) => {
    const isDeclined = method === 'POST'
    response.writeHead(isDeclined ? 422 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isDeclined ? { title: hostile } : url.includes('/falhas') ? [failure] : [listed]))
  })
  return `https://localhost:${await listenUntilEnd(server)}`
}

test('control characters in texts of the portal are printed as codes, and start no new line', async () => {
  const hostile = '\u001b[2J\u009b1m\u202e\u200b\u{e0041}\nsettled: all\u2028\r'
  const shown = '\\u001b[2J\\u009b1m\\u202e\\u200b\\udb40\\udc41\\u000asettled: all\\u2028\\u000d'
  const portal = { ...services.options.portal, baseUrl: await startHostilePortal(hostile) }
  const config = declare(['um'], portal)
  for (const args of [['plan'], ['apply'], ['failures']]) {
    const { out, err } = await averba(...args, ...config)
    // Of a decline the portal's own words are left to --json.
    expect(out.includes(shown), args[0]).toBe(args[0] !== 'apply')
    expect(out + err, args[0]).not.toMatch(/[^\P{C}\n]|[\u2028]|^settled/mu)
    const { out: json } = await averba(...args, '--json', ...config)
    expect(json).not.toMatch(/[^\P{C}\n]/u)
    expect(JSON.stringify(JSON.parse(json))).toContain(JSON.stringify(hostile).slice(1, -1))
  }
})

test('an invalid plan, or two plans, are refused', async () => {
  const config = declare(['um'])
  const none = join(folder, 'none.json')
  writeFileSync(none, '{}')
  await expectFailure(averba('apply', '--plan', none, ...config), 'it has no hash')
  const missing = /it is missing or not JSON\nWrite one with: averba plan --config \S+ --json/
  await expectFailure(averba('apply', '--plan', `${none}.json`, ...config), missing)
  expect(await averba('apply', '--plan', none, '--hash', 'a', ...config)).toMatchObject({ code: 1 })
})
