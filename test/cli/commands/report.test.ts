import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type ConsentReport, checkPageProof } from '../../../src/index.ts'
import { averba, averbaWith, expectFailure, expectOutput, startCommand } from '../../support/command-line.ts'
import { configFile } from '../../support/config-file.ts'
import { openPage } from '../../support/open-page.ts'
import { createReportedWorld } from '../../support/reported-world.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder()
const store = join(folder, 'log.sqlite')
const config = configFile({ store })

const reported = await createReportedWorld(store)
await reported.world.close()

const report = (...args: string[]) => averba('report', '--config', config, ...args)
/** The report of a CPF, which is on standard input. */
const reportOf = (cpf: string, ...args: string[]) => averbaWith(`${cpf}\n`, 'report', '--config', config, ...args)

test('averba report reads the CPF from standard input, and prints it nowhere', async () => {
  const { cpf } = reported.world.samples
  const { code, out, err } = await reportOf(cpf, '--json')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(JSON.parse(out)).toMatchObject({ subject: reported.subject, cpf: '***.744.350-**' })
  expect(out).not.toContain(cpf)
  const wrong = await expectFailure(reportOf('25774435017'), 'INVALID_CPF')
  expect(wrong.out + wrong.err).not.toContain('25774435017')
})

test('the data itself is added for a named person and purpose only', async () => {
  const { subject } = reported
  const who = ['--subject', subject]
  const { out } = await report(...who, '--data', '--actor', 'atendente-7', '--purpose', 'pedido 4711')
  expect(JSON.parse(out).data).toContainEqual(expect.objectContaining({ value: reported.world.samples.cpf }))
  for (const [args, message] of [
    ['--data --actor a', 'Cannot show the data: --purpose is missing'],
    ['--data --purpose p', 'Cannot show the data: --actor is missing'],
    ['--purpose p', 'Cannot use --purpose'],
    ['--data --consent c', 'Cannot use --data in this report'],
  ] as const)
    await expectFailure(report(...who, ...args.split(' ')), message)
})

test('a page is written to a new file with mode 0600, and no file is overwritten', async () => {
  const { which, unawareAt } = reported
  const args = ['--subject', which.subject, '--consent', which.id, '--at', unawareAt]
  const file = join(folder, 'consent.html')
  expect(await report(...args, '--html', '--out', file)).toMatchObject({ code: 0, out: '' })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { className } = await openPage(readFileSync(file, 'utf8')).run(globalThis.crypto.subtle)
  expect(className).toBe('card yes')
  await expectFailure(report(...args, '--out', file), 'Cannot write')
  // Nothing is revealed for a file that cannot be written.
  const revealed = async () => (await averba('log', '--store', store, '--type', 'reveal.recorded', '--json')).out
  const before = await revealed()
  const data = ['--subject', which.subject, '--data', '--actor', 'agent-7', '--purpose', 'p', '--out', file]
  await expectFailure(report(...data), 'Cannot write')
  expect(await revealed()).toBe(before)
  // Without --lang a report is for the person.
  await expectOutput(report(...args, '--html'), '<html lang="pt-BR"')
  await expectOutput(report(...args, '--html', '--lang', 'en'), '<html lang="en"')
  await expectOutput(averba('--lang', 'en', 'report', '--config', config, ...args, '--html'), '<html lang="en"')
  const { out } = await report(...args, '--known-at', '9')
  const { proof, answer, timeline } = JSON.parse(out) as ConsentReport
  expect(answer).toMatchObject({ reason: 'active', position: 9 })
  expect(timeline).toHaveLength(1)
  expect(await checkPageProof(proof, globalThis.crypto.subtle)).toMatchObject({ signature: 'right' })
})

test('the instant may be given in whole seconds, or as a day', async () => {
  const { subject, id } = reported.which
  for (const [given, at] of [
    ['2026-11-21T16:47:20Z', '2026-11-21T16:47:20.000Z'],
    ['2026-11-21', '2026-11-21T03:00:00.000Z'],
    ['2026-11-21T13:47', '2026-11-21T16:47:00.000Z'],
  ] as const)
    expect(JSON.parse((await report('--subject', subject, '--consent', id, '--at', given)).out)).toMatchObject({ at })
  // The stream says whose it is.
  const { consents } = JSON.parse((await averba('consents', 'list', '--store', store, '--json')).out)
  const [{ consent }] = consents.filter((each: { subject: string }) => each.subject === subject)
  const ofStream = await report('--consent', consent, '--at', '2026-11-21')
  expect(JSON.parse(ofStream.out)).toMatchObject({ subject, at: '2026-11-21T03:00:00.000Z' })
  await expectFailure(report('--consent', 'consent-x', '--at', '2026-11-21'), 'has no such stream')
})

test('the operations of a period are reported, with the period given in days', async () => {
  const { out } = await expectOutput(report('--processing', '--from', '2026-11-20', '--until', '2026-11-21'), '')
  const { operations, from } = JSON.parse(out)
  expect(from).toBe('2026-11-20T03:00:00.000Z')
  expect(operations.length).toBeGreaterThan(10)
  // Both read the whole log.
  for (const args of [`--subject ${reported.subject}`, '--processing --from 2026-11-20 --until 2026-11-21'])
    await startCommand(['report', '--config', config, ...args.split(' ')], { isTTY: true }).progress
  await expectFailure(report('--processing', '--from', '2026-11-20'), /--until is missing\n.*--until 2026/)
})

test('an option that the report does not use is refused, and never ignored', async () => {
  const { subject, id } = reported.which
  const period = '--from 2026-11-20 --until 2026-11-21'
  for (const given of [
    `--processing ${period} --subject ${subject}`,
    `--processing ${period} --at 2026-11-20`,
    `--subject ${subject} ${period}`,
    `--subject ${subject} --known-at 9`,
    `--subject ${subject} --consent ${id} --at 2026-11-21 --until 2026-11-22`,
  ])
    await expectFailure(report(...given.split(' ')), 'INVALID_INPUT: Cannot use --')
  const empty = report('--processing', '--from', '2026-11-20', '--until', '2026-11-20')
  await expectFailure(empty, 'Its end is not included')
})

test('a report fails without leaving files when it cannot be written or the log is missing', async () => {
  const period = ['--processing', '--from', '2026-11-20', '--until', '2026-11-21']
  expect(await report(...period, '--out', '/dev/full')).toMatchObject({ code: 1 })
  const none = join(folder, 'none.sqlite')
  const without = report(...period, '--config', configFile({ store: none }))
  expect((await expectFailure(without, /NOT_FOUND.*none\.sqlite/)).out).toBe('')
  expect(existsSync(none)).toBe(false)
})
