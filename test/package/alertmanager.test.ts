import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { listenUntilEnd } from '../support/listen-until-end.ts'
import { root, run } from '../support/run-script.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const file = join(root, 'docs/prometheus/alertmanager.yml')

test('the file for Alertmanager is right, and sends each alert where its severity says', async () => {
  expect((await run('amtool', ['check-config', file])).stdout).toContain('SUCCESS')
  const rules = readFileSync(join(root, 'docs/prometheus/averba.rules.yml'), 'utf8')
  const alerts = [...rules.matchAll(/alert: (\w+)[\s\S]*?severity: (\w+)/g)]
  expect(alerts.length).toBe(10)
  for (const [, alert, severity] of alerts) {
    const labels = [`alertname=${alert}`, `severity=${severity}`]
    const { stdout } = await run('amtool', ['config', 'routes', 'test', `--config.file=${file}`, ...labels])
    expect(stdout.trim(), alert).toBe(severity === 'critical' ? 'mail-and-webhook' : 'mail')
  }
})

/** Takes mails, as the server of a sender does that trusts it. */
async function startMailServer() {
  const mails: string[] = []
  const server = createServer(socket => {
    const say = (line: string) => socket.write(`${line}\r\n`)
    let lines: string[] | undefined
    const input = createInterface({ input: socket })
    input.on('line', line => {
      if (lines === undefined) {
        if (line === 'DATA') lines = []
        say(line === 'DATA' ? '354 go on' : '250 fine')
      } else if (line === '.') {
        mails.push(lines.join('\n'))
        lines = undefined
        say('250 taken')
      } else lines.push(line)
    })
    // The sender may leave without a word: the reader of its lines throws too.
    for (const each of [socket, input]) each.on('error', () => undefined)
    say('220 mail.exemplo.br')
  })
  return { mails, port: await listenUntilEnd(server) }
}

async function startWebhook() {
  const posts: { alerts: { labels: Record<string, string>; annotations: Record<string, string> }[] }[] = []
  const server = createHttpServer(async (request, response) => {
    posts.push(JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()))
    response.end()
  })
  return { posts, port: await listenUntilEnd(server) }
}

test('a real Alertmanager mails every alert, and posts a critical one to the webhook too', async () => {
  const [mail, webhook, folder] = [await startMailServer(), await startWebhook(), temporaryFolder()]
  const text = readFileSync(file, 'utf8')
    .replace('smtp.exemplo.br:587', `127.0.0.1:${mail.port}\n  smtp_require_tls: false`)
    .replace(/ {2}smtp_auth_.*\n/g, '')
    .replace('https://chat.exemplo.br/hooks/averba', `http://127.0.0.1:${webhook.port}/`)
    .replace('group_wait: 30s', 'group_wait: 0s')
  writeFileSync(join(folder, 'alertmanager.yml'), text)
  const port = await freePort()
  const flags = ['--config.file=alertmanager.yml', '--storage.path=data', '--cluster.listen-address=']
  const own = [...flags, `--web.listen-address=127.0.0.1:${port}`]
  const alertmanager = spawn('prometheus-alertmanager', own, { cwd: folder, stdio: 'ignore' })
  onTestFinished(() => void alertmanager.kill('SIGKILL'))
  const alertOf = (alertname: string, severity: string, summary: string) => ({
    ...{ labels: { alertname, severity }, annotations: { summary } },
  })
  const critical = alertOf('AverbaNoIsNotMade', 'critical', 'an end waits')
  const body = JSON.stringify([critical, alertOf('AverbaCallsParked', 'warning', 'calls wait')])
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
  const send = async () => (await fetch(`http://127.0.0.1:${port}/api/v2/alerts`, init).catch(() => undefined))?.status
  await expect.poll(send, { timeout: 30_000 }).toBe(200)

  const subjects = () => mail.mails.map(each => /^Subject: .*\b(Averba\w+)/m.exec(each)?.[1]).sort()
  await expect.poll(subjects, { timeout: 30_000 }).toEqual(['AverbaCallsParked', 'AverbaNoIsNotMade'])
  expect(mail.mails.every(each => each.includes('To: operations@exemplo.br'))).toBe(true)
  await expect.poll(() => webhook.posts.length, { timeout: 30_000 }).toBe(1)
  expect(webhook.posts[0]?.alerts).toMatchObject([critical])
}, 120_000)
