import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { type RunningServices, startServices } from '../../../src/simulation/index.ts'
import { serviceNames } from '../../../src/vocabulary/names.ts'
import { averba, failedWith, printed } from '../../support/command-line.ts'
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
  expect(well).toMatchObject(printed(/\nNo problems\.\n$/))
  expect(well.out).toMatch(/^ok +consentService +it answered within \d+ ms$/m)
  expect(well.out).toMatch(/^ok +receiverCertificate +it ends in \d+ days$/m)
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
  expect(wrong.map((each: { name: string }) => each.name)).toEqual([...serviceNames])
  const none = await averba('doctor', '--config', join(temporaryFolder(), 'averba.config.ts'), '--json')
  expect(none.code).toBe(1)
  expect(JSON.parse(none.out)).toMatchObject({ ok: false, checks: [{ name: 'configuration' }] })
})

test.each([
  [['--store', 'log.sqlite', '--token'], '--token with --store'],
  [['--store', 'log.sqlite', '--config', 'averba.config.ts'], '--config with --store'],
  [['--keys', 'a.keys'], '--keys without --store'],
])('averba doctor refuses what it would not use: %j', async (args, words) => {
  expect(await averba('doctor', ...args)).toMatchObject(failedWith(`INVALID_INPUT: Cannot use ${words}`))
})

const index = JSON.stringify(resolve(import.meta.dirname, '../../../src/index.ts'))

test.each([
  [
    'the error of averba that a configuration throws',
    `import { environmentKeys } from ${index}\nenvironmentKeys({ variable: 'NOT_SET' })`,
    'the variable NOT_SET is not set',
  ],
  [
    "where a host's own configuration throws, and not its text, which may hold a secret",
    "\nthrow new TypeError('the password segredo is wrong')",
    'it throws TypeError at line 2',
  ],
])('averba doctor says %s', async (_, text, said) => {
  const file = join(temporaryFolder(), 'averba.config.ts')
  writeFileSync(file, text)
  const ended = await averba('doctor', '--config', file)
  expect(ended).toMatchObject(printed(said, 1))
  expect(ended.out).not.toContain('segredo')
})
