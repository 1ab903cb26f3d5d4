import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startServices } from '../../../src/simulation/index.ts'
import { serviceNames } from '../../../src/vocabulary/names.ts'
import {
  averba,
  averbaJson,
  expectFailure,
  expectJson,
  expectOutput,
  startCommand,
} from '../../support/command-line.ts'
import { configFile } from '../../support/config-file.ts'
import { makeSampleStore } from '../../support/sample-store.ts'
import { temporaryFolder, temporaryStore } from '../../support/temporary-folder.ts'

test('averba doctor checks the configuration of averba run, and its exit code shows the result', async () => {
  const services = await startServices()
  const run = { receiver: { certificate: services.receiver } }
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }
  const config = ['--config', configFile({ ...services.options, store: temporaryStore(), receiver, run })]
  const well = await expectOutput(averba('doctor', ...config), /\nNo problems\.\n$/)
  expect(well.out).toMatch(/^ok +consentService +it answered within \d+ ms$/m)
  expect(well.out).toMatch(/^ok +receiverCertificate +it ends in \d+ days$/m)
  const inPortuguese = await averba('doctor', ...config, '--lang', 'pt-BR')
  expect(inPortuguese.out).toMatch(/^ok +consentService +respondeu em \d+ ms$/m)
  expect(inPortuguese.out).not.toMatch(/ (the|it|is|and|with|no) /)
  const token = { name: 'token', ok: true, detail: 'the gateway issued a token' }
  expect((await averbaJson('doctor', ...config, '--token')).checks).toContainEqual(token)

  await services.close()
  const wrong = (await expectJson(1, 'doctor', ...config)).checks.filter((each: { ok: boolean }) => !each.ok)
  expect(wrong.map((each: { name: string }) => each.name)).toEqual([...serviceNames])
  const deep = ['doctor', '--deep', '--config', configFile({ store: await makeSampleStore(30) })]
  await startCommand(deep, { isTTY: true }).progress
  const none = await expectJson(1, 'doctor', '--config', join(temporaryFolder(), 'averba.config.ts'))
  expect(none).toMatchObject({ ok: false, checks: [{ name: 'configuration' }] })
})

test.each([
  [['--store', 'log.sqlite', '--token'], '--token with --store'],
  [['--store', 'log.sqlite', '--config', 'averba.config.ts'], '--config with --store'],
  [['--keys', 'a.keys'], '--keys without --store'],
])('averba doctor refuses what it would not use: %j', async (args, words) => {
  await expectFailure(averba('doctor', ...args), `INVALID_INPUT: Cannot use ${words}`)
})
