import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, expect } from 'vitest'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Starts Chromium for the tests of a file. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = process.env.AVERBA_CHROMIUM ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  afterAll(() => browser.close())
  return browser
}

/** What axe finds wrong with a page. */
export async function faultsOf(page: Page, rules = ''): Promise<string[]> {
  const results: AxeResults = await page.evaluate(`${axe}; axe.run(document${rules})`)
  expect(results.passes.length).toBeGreaterThan(0)
  return results.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}

/** How many pixels of a page lie beside the window. */
export async function overflowOf(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
}
