import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { expect, test } from 'vitest'

const entry = resolve(import.meta.dirname, '../../src/verify.ts')

/** The files that one imports when it runs, and whatever else it names: types are gone by then. */
function importsOf(path: string, seen = new Map<string, string[]>()): Map<string, string[]> {
  if (seen.has(path)) return seen
  const text = readFileSync(path, 'utf8')
  const found = [
    ...text.matchAll(/^(?:import|export)(?! type)\s[^'"=(]*?from '([^']+)'|\bimport\('([^']+)'\)/gm),
  ]
  const names = found.map(([, from, dynamic]) => from ?? dynamic ?? '')
  seen.set(path, names)
  for (const name of names) if (name.startsWith('.')) importsOf(resolve(dirname(path), name), seen)
  return seen
}

test('averba/verify imports nothing of a runtime and no package, so that a browser loads it as it is', () => {
  const files = importsOf(entry)
  expect([...files.keys()].some(path => path.endsWith('proof/log-verifier.ts'))).toBe(true)
  const others = [...files].flatMap(([path, names]) =>
    names.filter(name => !name.startsWith('.')).map(name => `${path}: ${name}`),
  )
  expect(others).toEqual([])
})
