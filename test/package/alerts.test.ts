import { spawn } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startCommand } from '../support/command-line.ts'
import { configFile } from '../support/config-file.ts'
import { freePort } from '../support/free-port.ts'
import { root, run } from '../support/run-script.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const files = join(root, 'docs/prometheus')

test('the rules are right, and their alerts fire as their own tests say', async () => {
  await run('promtool', ['check', 'rules', 'averba.rules.yml'], { cwd: files })
  const { stdout } = await run('promtool', ['test', 'rules', 'averba.rules.test.yml'], { cwd: files })
  expect(stdout).toContain('SUCCESS')
})

test('a real Prometheus scrapes averba run, and evaluates every rule and every query of the dashboard', async () => {
  const folder = temporaryFolder()
  const config = configFile({ store: join(folder, 'log.sqlite'), run: { port: 0 } })
  const running = startCommand(['run', '--config', config])
  const { port } = JSON.parse(await running.line('"listening"'))
  const scraped = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const known = new Set([...scraped.matchAll(/^# HELP (\w+) /gm)].map(([, name = '']) => name))

  cpSync(join(files, 'averba.rules.yml'), join(folder, 'averba.rules.yml'))
  const scrape = `[{ job_name: averba, static_configs: [{ targets: ['127.0.0.1:${port}'] }] }]`
  const timing = 'global: { scrape_interval: 1s, evaluation_interval: 1s }'
  const text = `${timing}\nrule_files: [averba.rules.yml]\nscrape_configs: ${scrape}\n`
  writeFileSync(join(folder, 'prometheus.yml'), text)
  const own = await freePort()
  const flags = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=127.0.0.1:${own}`]
  const prometheus = spawn('prometheus', flags, { cwd: folder, stdio: 'ignore' })
  onTestFinished(() => void prometheus.kill('SIGKILL'))
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${own}/api/v1/${path}`).catch(() => undefined)
    return answer === undefined ? undefined : ((await answer.json()) as { status: string; data: never })
  }
  type Rules = { groups: { rules: { name: string; query: string; health: string }[] }[] } | undefined
  const rulesOf = async () => ((await ask('rules'))?.data as Rules)?.groups.flatMap(({ rules }) => rules) ?? []
  const health = async () => (await rulesOf()).map(({ health }) => health)
  await expect.poll(health, { timeout: 30_000 }).toEqual(Array(10).fill('ok'))
  type Values = { result: { value: [number, string] }[] } | undefined
  const ready = async () => ((await ask('query?query=averba_ready'))?.data as Values)?.result[0]?.value[1]
  await expect.poll(ready, { timeout: 30_000 }).toBe('1')

  const dashboard = readFileSync(join(files, 'averba.dashboard.json'), 'utf8')
  const { panels }: { panels: { targets: { expr: string }[] }[] } = JSON.parse(dashboard)
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  expect(queries.length).toBeGreaterThan(10)
  for (const query of queries)
    expect(await ask(`query?query=${encodeURIComponent(query)}`), query).toMatchObject({ status: 'success' })
  // A misspelt name would be no error to Prometheus.
  const all = [...queries, ...(await rulesOf()).map(({ query }) => query)].join('\n')
  const named = [...all.matchAll(/averba_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''))
  expect([...new Set(named)].filter(name => !known.has(name))).toEqual([])
  expect(await running.stop('SIGTERM')).toMatchObject({ code: 0 })
}, 120_000)
