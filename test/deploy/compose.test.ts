import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { configTemplate } from '../../src/index.ts'
import { packPackage, root, run } from '../support/run-script.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The folder that the page describes: a package.json with averba, its lock file, a configuration, and our files. */
async function makeFolder(): Promise<string> {
  const folder = temporaryFolder()
  const tarball = basename(await packPackage(folder))
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  await run('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund', `./${tarball}`], { cwd: folder })
  const config = (await configTemplate())
    .replace("store: 'averba.sqlite'", "store: '/data/averba.sqlite'")
    .replace("// host: '127.0.0.1'", "host: '0.0.0.0'")
  writeFileSync(join(folder, 'averba.config.ts'), config)
  cpSync(join(root, 'docs/deploy/compose.yaml'), join(folder, 'compose.yaml'))
  // Not published: the tarball lies beside the lock file, which names it.
  const dockerfile = readFileSync(join(root, 'docs/deploy/Dockerfile'), 'utf8')
  const copying = dockerfile.replace('package-lock.json ./', `package-lock.json ${tarball} ./`)
  writeFileSync(join(folder, 'Dockerfile'), copying)
  return folder
}

test('compose builds the container and runs it beside the simulated services; it stops by its signal, and goes on', async () => {
  const folder = await makeFolder()
  const plugin = ['docker', 'compose']
  const [program = '', ...words] = await run('docker', ['compose', 'version']).then(
    () => plugin,
    () => ['docker-compose'],
  )
  const compose = (...args: readonly string[]) => run(program, [...words, ...args], { cwd: folder })
  const inside = async (...command: readonly string[]) => (await compose('exec', '-T', 'averba', ...command)).stdout
  const ready = async () => (await fetch('http://127.0.0.1:9464/readyz').catch(() => undefined))?.status
  onTestFinished(() => compose('down', '--volumes', '--rmi', 'local').then(() => undefined))

  await compose('up', '--detach', '--build')
  await expect.poll(ready, { timeout: 30_000 }).toBe(200)
  expect(await inside('averba', 'status', '--store', '/data/averba.sqlite')).toContain('Nothing needs a person.')
  const env = '--env-file=/sim/services/averba.env'
  const doctor = await inside('node', env, 'node_modules/.bin/averba', 'doctor')
  expect(doctor).toMatch(/^ok +portal +it answered/m)
  expect(doctor).toContain('No problems.')

  await compose('stop')
  const { stdout: log } = await compose('logs', 'averba')
  expect(log).toMatch(/"message":"stopped"/)
  await compose('start')
  await expect.poll(ready, { timeout: 30_000 }).toBe(200)
  expect(await inside('averba', 'verify', '--store', '/data/averba.sqlite')).toContain('held')
})
