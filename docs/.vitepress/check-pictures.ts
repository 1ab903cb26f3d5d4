import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { chromium } from 'playwright-core'

// Opens the page of the machines, as it was built, in Chromium: each diagram is drawn by light and by dark, and nothing
// is asked of another host.

const site = join(import.meta.dirname, 'dist')
const written = readFileSync(join(import.meta.dirname, '../machines.md'), 'utf8').match(/^```mermaid$/gm)?.length ?? 0
const types: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' }

const server = createServer(({ url = '' }, response) => {
  const path = join(site, new URL(url, 'http://site').pathname)
  if (!existsSync(path)) return response.writeHead(404).end()
  return response.setHeader('content-type', types[extname(path)] ?? 'font/woff2').end(readFileSync(path))
})
await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo // It listens on a port.
const origin = `http://127.0.0.1:${port}`

const executablePath = process.env.AVERBA_CHROMIUM ?? '/usr/bin/chromium'
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage({ colorScheme: 'light' })
const elsewhere: string[] = []
page.on('request', request => {
  if (!request.url().startsWith(`${origin}/`)) elsewhere.push(request.url())
})
await page.goto(`${origin}/machines.html`)
const schemes = [
  ['light', 'rgb(51, 51, 51)'],
  ['dark', 'rgb(204, 204, 204)'],
] as const
for (const [colorScheme, colour] of schemes) {
  await page.emulateMedia({ colorScheme })
  const isDrawn = ([colour, written]: readonly [string, number]) => {
    const colours = [...document.querySelectorAll('svg.statediagram')].map(each => getComputedStyle(each).fill)
    return colours.length === written && colours.every(each => each === colour)
  }
  await page.waitForFunction(isDrawn, [colour, written] as const, { timeout: 120_000 })
  console.log(`${written} diagrams are drawn by ${colorScheme}`)
}
// In the place of their texts.
assert.equal(await page.getByText('stateDiagram-v2').count(), 0)
assert.deepEqual(elsewhere, [])
await browser.close()
server.close()
