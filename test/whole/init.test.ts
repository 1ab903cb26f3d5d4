import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { SimulationAddresses } from '../../src/cli/commands/simulate.ts'
import { startCommand } from '../support/command-line.ts'
import { folderInPackage } from '../support/temporary-folder.ts'
import { main } from './run-averba.ts'

const run = promisify(execFile)
const folder = folderInPackage()

test('averba works with the written configuration when its variables are set', async () => {
  const services = startCommand(['simulate', '--json'])
  const { samples, env }: SimulationAddresses = JSON.parse(await services.line('{'))
  const values = parseEnv(readFileSync(env, 'utf8'))
  expect(await startCommand(['init', '--dir', folder]).ended).toMatchObject({ code: 0 })
  writeFileSync(
    join(folder, 'host.ts'),
    `import { openAverba, valueOf } from 'averba'
    import config from './averba.config.ts'
    const averba = await openAverba(config)
    const cpf = '${samples.cpf}'
    const subject = await averba.consents.enrol({ cpf })
    const { read } = valueOf(await averba.consents.sync({ subject }))
    const { state } = valueOf(await averba.validations.validate({ id: 'a', cpf, claims: { sexo: 'F' } }))
    const made = await averba.subscriptions.apply(await averba.subscriptions.plan())
    await averba.close()
    console.log(JSON.stringify({ read, state, made: made.map(outcome => outcome.status) }))`,
  )
  const inFolder = (args: string[], more: Record<string, string> = {}) =>
    run(process.execPath, args, { cwd: folder, env: { ...process.env, ...values, ...more } })
  const host = (more: Record<string, string> = {}) => inFolder(['--conditions=averba-source', 'host.ts'], more)
  const doctor = (more: Record<string, string> = {}) => inFolder([...main, 'doctor', '--token', '--json'], more)
  const { stdout } = await host()
  const [keyring = '', result = ''] = stdout.trim().split('\n')
  expect(JSON.parse(result)).toEqual({ read: 4, state: 'answered', made: ['settled'] })
  // The logger of the configuration wrote this one.
  expect(JSON.parse(keyring)).toMatchObject({ path: expect.stringContaining('averba.sqlite.keys') })
  expect(JSON.parse((await doctor()).stdout)).toMatchObject({ ok: true })
  // The configuration ends at the first that is missing, and doctor names all of them.
  await expect(doctor({ AVERBA_TOKEN_URL: '', AVERBA_CONSUMER_KEY: '', AVERBA_PORTAL_URL: '' })).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /variables AVERBA_TOKEN_URL, AVERBA_CONSUMER_KEY, AVERBA_PORTAL_URL are not set: Set what/,
    ),
  })
  await expect(doctor({ AVERBA_PORTAL_URL: '' })).rejects.toMatchObject({
    stdout: expect.stringContaining('The environment variable AVERBA_PORTAL_URL is not set: Set what'),
  })
  await expect(host({ AVERBA_TOKEN_URL: '' })).rejects.toMatchObject({
    stderr: expect.stringContaining('The environment variable AVERBA_TOKEN_URL is not set'),
  })
  services.stop('SIGTERM')
  await services.ended
})
