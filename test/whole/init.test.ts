import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { expect, test, vi } from 'vitest'
import type { SimulationAddresses } from '../../src/cli/commands/simulate.ts'
import { averba, expectOutput, startCommand } from '../support/command-line.ts'
import { run } from '../support/run-script.ts'
import { folderInPackage } from '../support/temporary-folder.ts'
import { main } from './run-averba.ts'

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
  const inFolder = (...args: string[]) =>
    run(process.execPath, args, { cwd: folder, env: { ...process.env, ...values } })
  const { stdout } = await inFolder('--conditions=averba-source', 'host.ts')
  const [keyring = '', result = ''] = stdout.trim().split('\n')
  expect(JSON.parse(result)).toEqual({ read: 4, state: 'answered', made: ['settled'] })
  // The logger of the configuration wrote this one.
  expect(JSON.parse(keyring)).toMatchObject({ path: expect.stringContaining('averba.sqlite.keys') })
  const doctor = await inFolder(...main, 'doctor', '--token', '--json')
  expect(JSON.parse(doctor.stdout)).toMatchObject({ ok: true })
  // The configuration ends at the first variable that is missing, and doctor names all of them.
  for (const [name, value] of Object.entries(values)) vi.stubEnv(name, value)
  for (const name of ['AVERBA_TOKEN_URL', 'AVERBA_CONSUMER_KEY', 'AVERBA_PORTAL_URL']) vi.stubEnv(name, '')
  const missing = 'variables AVERBA_TOKEN_URL, AVERBA_CONSUMER_KEY, AVERBA_PORTAL_URL are not set: Set what'
  const config = join(folder, 'averba.config.ts')
  await expectOutput(averba('doctor', '--config', config, '--json'), missing, 1)
})
