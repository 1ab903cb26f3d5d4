import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type RunningServices, startServices } from '../../../src/simulation/index.ts'
import { averba } from '../../support/command-line.ts'
import { configFile } from '../../support/config-file.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

function configureAll({ options, receiver: certificate }: RunningServices): string {
  return configFile({
    ...options,
    store: join(temporaryFolder(), 'log.sqlite'),
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    run: { receiver: { certificate } },
  })
}

test('averba doctor checks the configuration of averba run, and its exit code shows the result', async () => {
  const services = await startServices()
  const config = ['--config', configureAll(services)]
  const well = await averba('doctor', ...config)
  expect(well.code).toBe(0)
  expect(well.out).toMatch(/^ok +consentService +it answered within \d+ ms$/m)
  expect(well.out).toMatch(/^ok +receiverCertificate +it ends in \d+ days$/m)
  expect(well.out).toMatch(/\nNo problems\.\n$/)
  const asked = await averba('doctor', ...config, '--json', '--token')
  expect(asked.code).toBe(0)
  const token = { name: 'token', ok: true, detail: 'the gateway issued a token' }
  expect(JSON.parse(asked.out).checks).toContainEqual(token)

  await services.close()
  const gone = await averba('doctor', ...config, '--json')
  expect(gone.code).toBe(1)
  const wrong = JSON.parse(gone.out).checks.filter((each: { ok: boolean }) => !each.ok)
  expect(wrong.map((each: { name: string }) => each.name)).toEqual([
    ...['consentService', 'tokenService', 'validationService', 'portal'],
  ])
  const none = await averba('doctor', '--config', join(temporaryFolder(), 'averba.config.ts'), '--json')
  expect(none.code).toBe(1)
  expect(JSON.parse(none.out)).toMatchObject({ ok: false, checks: [{ name: 'configuration' }] })
})
