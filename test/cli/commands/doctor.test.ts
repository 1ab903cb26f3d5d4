import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { type RunningServices, startServices } from '../../../src/simulation/index.ts'
import { averba, failedWith } from '../../support/command-line.ts'
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
  const inPortuguese = await averba('doctor', ...config, '--lang', 'pt-BR')
  expect(inPortuguese.out).toMatch(/^ok +consentService +respondeu em \d+ ms$/m)
  expect(inPortuguese.out).not.toMatch(/ (the|it|is|and|with|no) /)
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

test.each([
  [['log.sqlite', '--token'], '--token with a store'],
  [['log.sqlite', '--config', 'averba.config.ts'], '--config with a store'],
  [['--keys', 'a.keys'], '--keys without a store'],
])('averba doctor refuses what it would not use: %j', async (args, words) => {
  expect(await averba('doctor', ...args)).toMatchObject(failedWith(`INVALID_INPUT: Cannot use ${words}`))
})

test('averba doctor shows the error of averba that a configuration throws', async () => {
  const file = join(temporaryFolder(), 'averba.config.ts')
  const from = JSON.stringify(resolve(import.meta.dirname, '../../../src/index.ts'))
  writeFileSync(
    file,
    `import { environmentKeys } from ${from}\nexport default { keys: environmentKeys({ variable: 'NOT_SET' }) }`,
  )
  const { code, out } = await averba('doctor', '--config', file)
  expect([code, out]).toEqual([1, expect.stringContaining('the variable NOT_SET is not set')])
})

test("averba doctor says where a host's own configuration throws, and not its text, which may hold a secret", async () => {
  const file = join(temporaryFolder(), 'averba.config.ts')
  writeFileSync(file, `\nthrow new TypeError('the password segredo is wrong')`)
  const { code, out } = await averba('doctor', '--config', file)
  expect([code, out]).toEqual([1, expect.stringContaining('it throws TypeError at line 2')])
  expect(out).not.toContain('segredo')
})
