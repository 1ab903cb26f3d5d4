import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

interface Entry {
  readonly resolved?: string
}

const root = resolve(import.meta.dirname, '..')
const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const packages: Record<string, Entry> = read('package-lock.json').packages

test('the lock file matches package.json and names no registry', () => {
  const { dependencies, devDependencies, engines } = read('package.json')
  expect(packages['']).toMatchObject({ dependencies, devDependencies, engines })
  const ofDocs: Record<string, Entry> = read('docs/package-lock.json').packages
  for (const each of [packages, ofDocs])
    expect(Object.values(each).filter(entry => entry.resolved !== undefined)).toEqual([])
})
