import { expect, test } from 'vitest'
import { faultsOf, openBrowser, overflowOf } from '../support/browser.ts'
import { createReportedWorld } from '../support/reported-world.ts'

const browser = await openBrowser()
const reveal = { actor: { kind: 'person', ref: 'atendente-7' }, purpose: 'LGPD art. 18 II' } as const

test.each([
  ['as it is', {}],
  ['with the data itself', { reveal }],
])('the page of a data subject is accessible and fits a phone, a desktop and paper: %s', async (_, options) => {
  const { world, subject } = await createReportedWorld()
  const report = await world.averba.subjects.report({ subject }, { format: 'html', ...options })
  const page = await browser.newPage()
  await page.setContent(report)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    expect([colorScheme, await faultsOf(page)]).toEqual([colorScheme, []])
  }
  // What is folded is open too: it must fit as well.
  await page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
  for (const width of [320, 360, 412, 1280]) {
    await page.setViewportSize({ width, height: 800 })
    expect([width, await overflowOf(page)]).toEqual([width, 0])
  }
  await page.emulateMedia({ media: 'print' })
  expect(await overflowOf(page)).toBe(0)
  await page.close()
})
