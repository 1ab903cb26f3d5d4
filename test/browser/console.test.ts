import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { faultsOf, openBrowser, overflowOf } from '../support/browser.ts'
import { startCommand } from '../support/command-line.ts'
import { eventsOf } from '../support/events-of.ts'
import { createReportedWorld } from '../support/reported-world.ts'
import { temporaryStore } from '../support/temporary-folder.ts'

const images = resolve(import.meta.dirname, '../../docs/images')
const browser = await openBrowser()

/** Opens the console of a world on a file in a browser. Every request of the browser is kept. */
async function openConsole(options: readonly string[] = ['--operate', '--actor', 'agent-7'], look: object = {}) {
  const store = temporaryStore()
  const reported = await createReportedWorld(store)
  const running = startCommand(['console', '--store', store, '--json', ...options])
  const { address } = JSON.parse(await running.line('address'))
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...look })
  const [requests, errors]: [string[], string[]] = [[], []]
  page.on('request', request => void requests.push(request.url()))
  page.on('pageerror', error => void errors.push(String(error)))
  page.on('console', message => void (message.type() === 'error' && errors.push(message.text())))
  await page.goto(address)
  onTestFinished(async () => {
    await page.close()
    expect(await running.stop('SIGINT')).toMatchObject({ code: 0 })
  })
  return { ...reported, page, requests, errors, root: new URL('.', address).href.slice(0, -1) }
}

const paths = [
  ...['/', '/effects?state=settled', '/consents', '/validations', '/notifications', '/subscriptions', '/followers'],
  ...['/log', '/machines/consent', '/compare?view=consents&a=5&b=40', '/verify?now=1'],
]

test.each([
  ['light', { colorScheme: 'light' }, ''],
  ['dark', { colorScheme: 'dark' }, ", { runOnly: ['color-contrast'] }"],
  ['on a phone', { viewport: { width: 360, height: 740 }, hasTouch: true }, ", { runOnly: ['target-size', 'list'] }"],
] as const)('every page is accessible, fits, and loads nothing from elsewhere: %s', async (_, look, rules) => {
  const { page, world, requests, errors, root } = await openConsole(undefined, look)
  const [appeared] = await eventsOf(world, 'consent.appeared')
  for (const path of [...paths, `/stream/${appeared?.stream}`]) {
    await page.goto(root + path)
    expect([path, await faultsOf(page, rules)]).toEqual([path, []])
    for (const language of ['pt-BR', 'en']) {
      await page.goto(`${root}${path}${path.includes('?') ? '&' : '?'}lang=${language}`)
      expect([path, language, await overflowOf(page)]).toEqual([path, language, 0])
    }
  }
  expect(requests.filter(url => !url.startsWith(root))).toEqual([])
  expect(errors).toEqual([])
})

test('a keyboard alone reaches the content, the menu and a stuck call, and releases it', async () => {
  const { page, world, subject, root } = await openConsole()
  await world.faults.add({ kind: 'status', status: 503, service: 'consentService', times: 1 })
  const { effect } = await world.averba.consents.sync({ subject })
  await page.goto(`${root}/`)
  await page.keyboard.press('Tab')
  expect(await page.evaluate('document.activeElement.className')).toBe('skip')
  await page.keyboard.press('Enter')
  expect(await page.evaluate('location.hash')).toBe('#content')
  await page.goto(`${root}/`)
  for (let tab = 0; tab < 3; tab++) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/effects')
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Calls')
  for (let tab = 0; tab < 60; tab++) {
    await page.keyboard.press('Tab')
    if ((await page.evaluate('document.activeElement.textContent')) === 'Release') break
  }
  await page.keyboard.press('Enter')
  expect(await page.locator('.card').textContent()).toContain('Done.')
  expect(await world.averba.effects.get(effect)).toMatchObject({ state: 'pending' })
})

test('the log shows new events while it is open, and filters them', async () => {
  const { page, world, subject, root } = await openConsole()
  await page.goto(`${root}/log?kind=subject`)
  const before = await page.locator('#log tbody tr').count()
  await world.averba.consents.sync({ subject })
  await page.locator('#log tr.new').first().waitFor()
  expect(await page.locator('#log tbody tr').count()).toBeGreaterThan(before)
  expect(await page.locator('#log tbody tr').first().textContent()).toContain('subject.')
  // Another server on this machine does not get the token.
  expect(await page.context().cookies('http://127.0.0.1:1/log')).toEqual([])
})

test('the slider leads to a past moment, and the path of a consent is lit there', async () => {
  const { page, world, root } = await openConsole(['--lang', 'pt-BR'])
  const [revoked] = await eventsOf(world, 'consent.revoked')
  await page.goto(`${root}/stream/${revoked?.stream}`)
  expect(await page.locator('li.active mark').allTextContents()).toHaveLength(6)
  const past = (revoked?.position ?? 0) - 1
  await page.locator('[data-known]').fill(String(past))
  expect(await page.locator('input[name=known]').first().inputValue()).toBe(String(past))
  await page.getByRole('button', { name: 'Mostrar' }).first().click()
  await page.waitForURL(`**known=${past}`)
  const lit = await page.locator('li.active > div > strong').allTextContents()
  expect(lit.filter(each => /ATIVO|REVOGADO/.test(each))).toEqual(['ATIVO'])
})

test('what is final is asked for twice, and a form that cannot act says why', async () => {
  const { page, world, root } = await openConsole()
  const [row] = await world.averba.views.selectFrom('consents').selectAll().where('status', '=', 'ATIVO').execute()
  await page.goto(`${root}/stream/${row?.consent}`)
  await page.locator('summary', { hasText: 'Revoke' }).click()
  await page.getByLabel('Reason').fill('asked by phone')
  await page.getByRole('button', { name: 'Confirm' }).click()
  // This console was started without the configuration of the services.
  expect(await page.locator('.card').textContent()).toContain('SERVICE_NOT_CONFIGURED')
  await page.getByRole('link', { name: 'Back' }).click()
  await page.waitForURL(`**/stream/${row?.consent}`)
})

test('the screenshots of the documentation are of this console', async () => {
  const { page, world, root } = await openConsole(undefined, { viewport: { width: 1000, height: 700 } })
  const [revoked] = await eventsOf(world, 'consent.revoked')
  const shown = { overview: '/', consent: `/stream/${revoked?.stream}`, log: '/log' }
  for (const [name, path] of Object.entries(shown)) {
    await page.goto(root + path)
    const shot = await page.screenshot()
    if (process.env.AVERBA_SCREENSHOTS) writeFileSync(resolve(images, `console-${name}.png`), shot)
    expect(readFileSync(resolve(images, `console-${name}.png`)).length).toBeGreaterThan(10_000)
  }
})
