import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { configTemplate } from '../../src/index.ts'
import { root } from '../support/run-script.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)

/** The folder that the page describes: a package.json with averba, its lock file, a configuration, and our files. */
async function makeFolder(): Promise<string> {
  const folder = temporaryFolder()
  await run('npm', ['pack', '--pack-destination', folder, '--ignore-scripts'], { cwd: root })
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const tarball = `averba-${version}.tgz`
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  await run('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund', `./${tarball}`], { cwd: folder })
  const config = (await configTemplate())
    .replace("store: 'averba.sqlite'", "store: '/data/averba.sqlite'")
    .replace("// host: '127.0.0.1'", "host: '0.0.0.0'")
  writeFileSync(join(folder, 'averba.config.ts'), config)
  cpSync(join(root, 'docs/deploy/compose.yaml'), join(folder, 'compose.yaml'))
  // Not published: the tarball lies beside the lock file, which names it.
  const dockerfile = readFileSync(join(root, 'docs/deploy/Dockerfile'), 'utf8')
  writeFileSync(
    join(folder, 'Dockerfile'),
    dockerfile.replace('package-lock.json ./', `package-lock.json ${tarball} ./`),
  )
  return folder
}

test('compose builds the container and runs it beside the simulated services; it stops by its signal, and goes on', async () => {
  const folder = await makeFolder()
  const isPlugin = await run('docker', ['compose', 'version']).then(
    () => true,
    () => false,
  )
  const compose = (...args: readonly string[]) =>
    isPlugin ? run('docker', ['compose', ...args], { cwd: folder }) : run('docker-compose', args, { cwd: folder })
  const inside = async (...command: readonly string[]) => (await compose('exec', '-T', 'averba', ...command)).stdout
  const ready = () =>
    fetch('http://127.0.0.1:9464/readyz').then(
      response => response.status,
      () => 0,
    )
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
