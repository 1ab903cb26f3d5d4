import { exec, execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { openPage } from '../api/reports/open-page.ts'

const root = resolve(import.meta.dirname, '../..')
const averba = (...args: string[]) => promisify(execFile)(process.execPath, ['src/cli/main.ts', ...args], { cwd: root })

test('the demonstration shows every lifecycle, and ends with one JSON object', async () => {
  const { stdout, stderr } = await averba('demo', '--json')
  const result = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  expect(result).toEqual({
    events: expect.any(Number),
    views: 'equal',
    tokenRequests: 2,
    validations: 2,
    deliveries: 4,
    failures: 1,
    notifications: 3,
    deletedByPortal: 1,
    pending: 0,
    store: expect.stringMatching(/averba\.sqlite$/),
    pages: [expect.stringMatching(/titular\.html$/), expect.stringMatching(/consentimento\.html$/)],
  })
  expect(result.events).toBeGreaterThan(50)
  expect(existsSync(result.store)).toBe(true)
  const pages: string[] = result.pages.map((page: string) => readFileSync(page, 'utf8'))
  const said = await openPage(pages[1] ?? '').run(globalThis.crypto.subtle)
  expect(said.className).toBe('card yes')
  expect(stderr).toBe('')
  const seen = stdout.replace('{"numeroLPCO":"I2600000003"}', '') + readFileSync(result.store, 'latin1') + pages.join()
  const canaries = ['25774435016', '52998224725', 'Sousa', 'segredo', 'secreta', 'numeroLPCO']
  expect(canaries.filter(canary => seen.includes(canary))).toEqual([])
})

test('an error at the command line is printed without a stack', async () => {
  const failing = averba('no-such-command')
  await expect(failing).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('unknown command') })
  const error = await failing.catch((reason: { stderr: string }) => reason.stderr)
  expect(error).not.toMatch(/^\s+at /m)
})

test('a demonstration that cannot write reports it, and exits with 1', async () => {
  const failing = promisify(execFile)(process.execPath, ['src/cli/main.ts', 'demo', '--dir', '/proc/averba'], {
    cwd: root,
  })
  await expect(failing).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('STORE_UNSAFE') })
  const error = await failing.catch((reason: { stderr: string }) => reason.stderr)
  expect(error).not.toMatch(/^\s+at /m)
})

test('a folder that holds a log is not used again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'averba-demo-again-'))
  await averba('demo', '--dir', folder, '--json')
  const again = averba('demo', '--dir', folder)
  await expect(again).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Name another folder'),
  })
})

test('a closed output pipe is no error', async () => {
  const command = `"${process.execPath}" src/cli/main.ts demo | head -n 1`
  const { stdout, stderr } = await promisify(exec)(command, { cwd: root })
  expect(stdout.trim().split('\n')).toHaveLength(1)
  expect(stderr).toBe('')
})
