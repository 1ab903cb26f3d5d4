import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

// VitePress checks links between pages only. This looks at all links of the site as it was built.

const site = join(import.meta.dirname, 'dist')
const pages = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.html'))
const isThere = (path: string) =>
  [path, `${path}.html`, join(path, 'index.html')].some(each => existsSync(each) && statSync(each).isFile())

let [links, dead] = [0, 0]
for (const page of pages) {
  for (const [, href = ''] of readFileSync(join(site, page), 'utf8').matchAll(/<a [^>]*href="([^"#?]*)/g)) {
    if (href === '' || /^(https?|mailto):/.test(href)) continue
    links += 1
    if (isThere(href.startsWith('/') ? join(site, href) : resolve(site, dirname(page), href))) continue
    dead += 1
    console.error(`${page}: nothing is at ${href}`)
  }
}
console.log(`${pages.length} pages, ${links} links within the site, ${dead} dead`)
if (dead > 0 || links === 0) process.exitCode = 1
