import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { averba, averbaJson, expectFailure, expectJson, expectOutput } from '../../support/command-line.ts'
import { openPage } from '../../support/open-page.ts'
import { root, run } from '../../support/run-script.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('the demonstration shows every lifecycle, and ends with one JSON object', async () => {
  const { code, out, err } = await averba('demo', '--json')
  const result = JSON.parse(out.trim().split('\n').at(-1) ?? '')
  expect(result).toEqual({
    ...{ events: expect.any(Number), views: 'equal', tokenRequests: 2, validations: 2, pending: 0 },
    ...{ deliveries: 4, failures: 1, notifications: 3, deletedByPortal: 1 },
    store: expect.stringMatching(/averba\.sqlite$/),
    pages: [expect.stringMatching(/titular\.html$/), expect.stringMatching(/consentimento\.html$/)],
  })
  expect(result.events).toBeGreaterThan(50)
  expect(existsSync(result.store)).toBe(true)
  const pages: string[] = result.pages.map((page: string) => readFileSync(page, 'utf8'))
  expect((await openPage(pages[1] ?? '').run(globalThis.crypto.subtle)).className).toBe('card yes')
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain(`apart from the store (${result.store}.keys)\n`)
  // The portal has deleted a subscription; else all is well, although the clock was virtual.
  const { needs } = await expectJson(2, 'status', '--store', result.store)
  expect(needs).toEqual([{ what: 'deleted', detail: expect.any(String) }])
  const [call] = (await averbaJson('effects', 'list', '--state', 'settled', '--store', result.store)).calls
  await expectOutput(averba('effects', 'show', call.id, '--store', result.store), /^ended +answered\n/m)
  const seen = out.replace('{"numeroLPCO":"I2600000003"}', '') + readFileSync(result.store, 'latin1') + pages.join()
  const canaries = ['25774435016', '52998224725', 'Sousa', 'segredo', 'secreta', 'numeroLPCO']
  expect(canaries.filter(canary => seen.includes(canary))).toEqual([])
})

test('a demonstration that cannot write, or whose folder holds a log, reports it, and exits with 1', async () => {
  expect((await expectFailure(averba('demo', '--dir', '/proc/averba'), 'STORE_UNSAFE')).err).not.toMatch(/^\s+at /m)
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'averba.sqlite'), '')
  await expectFailure(averba('demo', '--dir', folder), 'Name another folder')
})

test('the example of an identity check can be run again: the same id is never paid twice', async () => {
  const script = join(root, 'examples/identity-check.ts')
  const check = (...ids: string[]) =>
    run(process.execPath, ['--conditions=averba-source', script, ...ids], { cwd: folder })
  const folder = temporaryFolder()
  expect((await check('order-1')).stdout).toMatch(/^order-1 settled asked now\n/)
  expect((await check('order-1')).stdout).toMatch(/^order-1 settled answered before: nothing was paid\n/)
  await expect(check()).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(/^Usage: /) })
})
