import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { expect, test } from 'vitest'

const entry = resolve(import.meta.dirname, '../../src/verify.ts')

/** The imports of a file and of the files it imports, without type imports: those do not exist at run time. */
function importsOf(path: string, seen = new Map<string, string[]>()): Map<string, string[]> {
  if (seen.has(path)) return seen
  const text = readFileSync(path, 'utf8')
  const found = [...text.matchAll(/^(?:import|export)(?! type)\s[^'"=(]*?from '([^']+)'|\bimport\('([^']+)'\)/gm)]
  const names = found.map(([, from, dynamic]) => from ?? dynamic ?? '')
  seen.set(path, names)
  for (const name of names) if (name.startsWith('.')) importsOf(resolve(dirname(path), name), seen)
  return seen
}

test('averba/verify imports no package and no module of a runtime, so a browser can load it', () => {
  const files = importsOf(entry)
  expect([...files.keys()].some(path => path.endsWith('proof/log-verifier.ts'))).toBe(true)
  const others = [...files].flatMap(([path, names]) =>
    names.filter(name => !name.startsWith('.')).map(name => `${path}: ${name}`),
  )
  expect(others).toEqual([])
})
