import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ZodType, z } from 'zod'
import * as consent from '../../src/adapters/consent/wire.ts'
import * as portal from '../../src/adapters/portal/wire.ts'
import * as token from '../../src/adapters/token/wire.ts'
import * as validation from '../../src/adapters/validation/wire.ts'

const root = resolve(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/contracts.md'), 'utf8')

interface Row {
  /** The line number in the page, and the first cell. */
  readonly at: string
  readonly document: string
  readonly section: string
  readonly cells: readonly string[]
}

const header = '| statement | test |'

function parseRows(text: string): Row[] {
  const rows: Row[] = []
  let [document, section] = ['', '']
  for (const [i, line] of text.split('\n').entries()) {
    if (line.startsWith('## ')) document = line.slice(3)
    if (line.startsWith('### ')) section = line.slice(4)
    if (!line.startsWith('|') || line === header || /^\|( -+ \|)+$/.test(line)) continue
    const cells = line
      .replace(/^\||\|$/g, '')
      .split('|')
      .map(cell => cell.trim())
    rows.push({ at: `docs/contracts.md:${i + 1} (${cells[0]})`, document, section, cells })
  }
  return rows
}

const rows = parseRows(page)

function readIfExists(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** Lists what is wrong with a cell that names a test: its file or its title does not exist. */
function checkTest(cell: string): string[] {
  const [, file = '', title = ''] = /^([\w./-]+\.ts): (.+)$/.exec(cell) ?? []
  if (file === '') return [`"${cell}" is not "file: title"`]
  const text = readIfExists(join(root, 'test', file))
  if (text === undefined) return [`test/${file} does not exist`]
  const hasTitle = ["'", '"', '`'].some(quote => text.includes(`${quote}${title}${quote}`))
  return hasTitle ? [] : [`test/${file} has no test "${title}"`]
}

function checkRows(check: (cells: readonly string[]) => string[]): string[] {
  return rows.flatMap(row => check(row.cells).map(what => `${row.at}: ${what}`))
}

test('each document has enough statements', () => {
  const count = (part: string) =>
    rows.filter(row => row.document.startsWith(part)).flatMap(row => row.cells[0]?.split('; ')).length
  expect(count('Document 1')).toBeGreaterThanOrEqual(80)
  expect(count('Document 2')).toBeGreaterThanOrEqual(60)
  expect(count('Document 3')).toBeGreaterThanOrEqual(80)
})

test('every table has the two columns, and no cell is empty', () => {
  const tables = page.split('\n').filter(line => line.startsWith('| statement'))
  expect(new Set(tables)).toEqual(new Set([header]))
  expect(
    checkRows(cells => {
      if (cells.length !== 2) return [`it has ${cells.length} cells`]
      return cells.includes('') ? ['a cell is empty'] : []
    }),
  ).toEqual([])
})

test('no statement appears twice in a section', () => {
  const keys = rows.map(({ document, section, cells }) => `${document}, ${section}: ${cells[0]}`)
  expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
})

test('the files that a section names exist', () => {
  const named = page.split('\n').flatMap(line => (line.startsWith('|') ? [] : [...line.matchAll(/`([\w./-]+\.ts)`/g)]))
  const files = named.map(([, file = '']) => file).filter(file => !file.startsWith('test/'))
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter(file => !existsSync(join(root, 'src', file)))).toEqual([])
})

test('every row has a test', () => {
  expect(checkRows(([, named = '']) => checkTest(named))).toEqual([])
})

/** Lists the names of all fields of a schema, at any depth. */
function fieldNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {}, ...rest } = schema as { properties?: object }
  const inner = [...Object.values(properties), ...Object.values(rest)].flatMap(fieldNames)
  return [...Object.keys(properties), ...inner]
}

test.each([
  ['Document 1', consent],
  ['Document 2', token],
  ['Document 2', validation],
  ['Document 3', portal],
])('%s: every field of the wire schemas appears in a row (%#)', (document, wire) => {
  const schemas = Object.values(wire).filter(value => value instanceof ZodType)
  const fields = new Set(schemas.flatMap(schema => fieldNames(z.toJSONSchema(schema))))
  expect(fields.size).toBeGreaterThan(3)
  const lines = rows.filter(row => row.document.startsWith(document)).map(row => row.cells[0] ?? '')
  const named = new Set(
    [...lines.join(' ').matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) => text.match(/\w+/g) ?? []),
  )
  expect([...fields].filter(field => !named.has(field))).toEqual([])
})

describe('the tests of the suite', () => {
  const suite = ['consent.ts', 'token.ts', 'validation.ts', 'portal.ts', 'client.test.ts', 'services.test.ts']

  test.each(suite)('%s: each of them belongs to a row', name => {
    const text = readFileSync(join(root, 'test/contracts', name), 'utf8')
    // The title is the first text after `test(`, or after the table of `test.each(`.
    const titles = [...text.matchAll(/^ *(?:test|\](?: as const)?\))\(\n? *(['"])(.+?)\1,/gm)].map(([, , t]) => t)
    expect(titles.length).toBeGreaterThan(2)
    const shown = new Set(rows.map(row => row.cells[1]))
    expect(titles.filter(title => !shown.has(`contracts/${name}: ${title}`))).toEqual([])
  })
})
