import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsentReport, checkPageProof } from '../../src/index.ts'
import { openPage } from '../api/reports/open-page.ts'
import { createReportedWorld, type ReportedWorld } from '../api/reports/reported-world.ts'

const root = resolve(import.meta.dirname, '../..')
const command = ['--conditions=averba-source', join(root, 'src/cli/main.ts')]
// Only files inside the package can import it by its name.
mkdirSync(join(root, '.averba'), { recursive: true })
const folder = mkdtempSync(join(root, '.averba', 'report-'))

let reported: ReportedWorld
beforeAll(async () => {
  reported = await createReportedWorld(join(folder, 'log.sqlite'))
  await reported.world.close()
  const config = `import { defineConfig } from 'averba'\nexport default defineConfig({ store: 'log.sqlite' })\n`
  writeFileSync(join(folder, 'averba.config.ts'), config)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Runs `averba report` with a text on standard input. */
function report(input: string, ...args: string[]): Promise<{ code: number | null; out: string; error: string }> {
  return new Promise(done => {
    const child = spawn(process.execPath, [...command, 'report', ...args], { cwd: folder })
    let [out, error] = ['', '']
    child.stdout.setEncoding('utf8').on('data', text => {
      out += text
    })
    child.stderr.setEncoding('utf8').on('data', text => {
      error += text
    })
    child.on('close', code => done({ code, out, error }))
    child.stdin.end(input)
  })
}

test('averba report reads the CPF from standard input, and prints it nowhere', async () => {
  const { cpf } = reported.world.samples
  const { code, out, error } = await report(`${cpf}\n`, '--json')
  expect({ code, error }).toEqual({ code: 0, error: '' })
  expect(JSON.parse(out)).toMatchObject({ subject: reported.subject, cpf: '***.744.350-**' })
  expect(out).not.toContain(cpf)
  const wrong = await report('25774435017\n')
  expect(wrong).toMatchObject({ code: 1, out: '', error: expect.stringContaining('INVALID_CPF') })
  expect(wrong.error).not.toContain('25774435017')
})

test('a page is written to a new file with mode 0600, and no file is overwritten', async () => {
  const { which, unawareAt } = reported
  const args = ['--subject', which.subject, '--consent', which.id, '--at', unawareAt]
  const file = join(folder, 'consent.html')
  expect(await report('', ...args, '--html', '--out', file)).toMatchObject({ code: 0, out: '' })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const { className } = await openPage(readFileSync(file, 'utf8')).run(globalThis.crypto.subtle)
  expect(className).toBe('card yes')
  const again = await report('', ...args, '--out', file)
  expect(again).toMatchObject({ code: 1, error: expect.stringContaining('Cannot write') })
  const { out } = await report('', ...args, '--known-at', '9')
  const { proof, answer, timeline } = JSON.parse(out) as ConsentReport
  expect(answer).toMatchObject({ reason: 'active', position: 9 })
  expect(timeline).toHaveLength(1)
  expect(await checkPageProof(proof, globalThis.crypto.subtle)).toMatchObject({ signature: 'right' })
})

test('the instant may be given in whole seconds, or as a day', async () => {
  const { which } = reported
  const args = ['--subject', which.subject, '--consent', which.id]
  const asked = async (at: string) => JSON.parse((await report('', ...args, '--at', at)).out) as { at: string }
  expect((await asked('2026-11-21T16:47:20Z')).at).toBe('2026-11-21T16:47:20.000Z')
  expect((await asked('2026-11-21')).at).toBe('2026-11-21T00:00:00.000Z')
})

test('the operations of a period are reported, with the period given in days', async () => {
  const { code, out } = await report('', '--processing', '--from', '2026-11-20', '--until', '2026-11-21')
  expect(code).toBe(0)
  const { operations, from } = JSON.parse(out)
  expect(from).toBe('2026-11-20T00:00:00.000Z')
  expect(operations.length).toBeGreaterThan(10)
  const wrong = await report('', '--processing', '--from', '2026-11-20')
  expect(wrong).toMatchObject({ code: 1, error: expect.stringMatching(/--until is missing\n.*--until 2026/) })
})

test('a report fails without leaving files when the disk is full or the log is missing', async () => {
  const period = ['--processing', '--from', '2026-11-20', '--until', '2026-11-21']
  expect(await report('', ...period, '--out', '/dev/full')).toMatchObject({ code: 1 })
  const full = spawn('sh', ['-c', `"$0" "$@" > /dev/full`, process.execPath, ...command, 'report', ...period], {
    cwd: folder,
  })
  const [code] = await once(full, 'close')
  expect(code).toBe(1)
  const elsewhere = mkdtempSync(join(folder, 'elsewhere-'))
  writeFileSync(
    join(elsewhere, 'averba.config.ts'),
    `import { defineConfig } from 'averba'\nexport default defineConfig({ store: 'none.sqlite' })\n`,
  )
  const away = await report('', ...period, '--config', join(elsewhere, 'averba.config.ts'))
  expect(away).toMatchObject({ code: 1, out: '', error: expect.stringMatching(/NOT_FOUND.*none\.sqlite/) })
  expect(existsSync(join(folder, 'none.sqlite'))).toBe(false)
})
