import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../support/run-script.ts'

test('averba/verify imports no package and no module of a runtime, so a browser can load it', () => {
  const seen = new Set<string>()
  const visit = (path: string) => {
    if (seen.has(path)) return
    seen.add(path)
    const text = readFileSync(path, 'utf8')
    // Imports of types do not exist at run time.
    const found = text.matchAll(
      /^(?:import|export)(?! type)\s[^'"=(]*?from '([^']+)'|(?:^import |\bimport\()'([^']+)'/gm,
    )
    for (const [, from = '', dynamic = from] of found) {
      expect(dynamic, relative(root, path)).toMatch(/^\.\.?\//)
      visit(resolve(dirname(path), dynamic))
    }
  }
  visit(join(root, 'src/verify.ts'))
  const others = [...seen].map(path => relative(root, path)).filter(path => !path.startsWith('src/proof/'))
  expect(others).toEqual(['src/verify.ts'])
  expect([...seen].some(path => path.endsWith('proof/log-verifier.ts'))).toBe(true)
  expect(seen.size).toBeGreaterThan(10)
})
