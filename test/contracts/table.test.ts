import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ZodType, z } from 'zod'
import * as consent from '../../src/adapters/consent/wire.ts'
import * as portal from '../../src/adapters/portal/wire.ts'
import * as token from '../../src/adapters/token/wire.ts'
import * as validation from '../../src/adapters/validation/wire.ts'
import { root } from '../support/run-script.ts'

const page = readFileSync(join(root, 'docs/contracts.md'), 'utf8')

const header = '| statement | test |'

let [document, section] = ['', '']
/** The rows of the tables, each with its line number and first cell. */
const rows = page.split('\n').flatMap((line, i) => {
  if (line.startsWith('## ')) document = line.slice(3)
  if (line.startsWith('### ')) section = line.slice(4)
  if (!line.startsWith('|') || line === header || /^\|( -+ \|)+$/.test(line)) return []
  const cells = line.slice(1, -1).split('|')
  const [statement = '', named = ''] = cells.map(cell => cell.trim())
  return [{ at: `docs/contracts.md:${i + 1} (${statement})`, document, section, cells, statement, named }]
})

/** Lists what is wrong with a cell that names a test: its file or its title does not exist. */
function checkTest(cell: string): string[] {
  const [, file = '', title = ''] = /^([\w./-]+\.ts): (.+)$/.exec(cell) ?? []
  if (file === '') return [`"${cell}" is not "file: title"`]
  if (!existsSync(join(root, 'test', file))) return [`test/${file} does not exist`]
  const text = readFileSync(join(root, 'test', file), 'utf8')
  const hasTitle = ["'", '"', '`'].some(quote => text.includes(`${quote}${title}${quote}`))
  return hasTitle ? [] : [`test/${file} has no test "${title}"`]
}

test.each([
  ['Document 1', 80],
  ['Document 2', 60],
  ['Document 3', 80],
])('%s has enough statements', (part, min) => {
  const statements = rows.filter(row => row.document.startsWith(part)).flatMap(row => row.statement.split('; '))
  expect(statements.length).toBeGreaterThanOrEqual(min)
})

test('every table has the two columns, and no cell is empty', () => {
  const tables = page.split('\n').filter(line => line.startsWith('| statement'))
  expect(new Set(tables)).toEqual(new Set([header]))
  const isComplete = ({ cells, statement, named }: (typeof rows)[number]) =>
    cells.length === 2 && statement !== '' && named !== ''
  expect(rows.filter(row => !isComplete(row))).toEqual([])
})

test('no statement appears twice in a section', () => {
  const keys = rows.map(row => `${row.document}, ${row.section}: ${row.statement}`)
  expect(keys.filter((key, i) => keys.indexOf(key) !== i)).toEqual([])
})

test('the files that a section names exist', () => {
  const named = page.split('\n').flatMap(line => (line.startsWith('|') ? [] : [...line.matchAll(/`([\w./-]+\.ts)`/g)]))
  const files = named.map(([, file = '']) => file).filter(file => !file.startsWith('test/'))
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter(file => !existsSync(join(root, 'src', file)))).toEqual([])
})

test('every row has a test', () => {
  expect(rows.flatMap(({ at, named }) => checkTest(named).map(what => `${at}: ${what}`))).toEqual([])
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
  const lines = rows.filter(row => row.document.startsWith(document)).map(row => row.statement)
  const quoted = lines.join(' ').match(/`[^`]+`/g) ?? []
  const named = new Set(quoted.flatMap(text => text.match(/\w+/g)))
  expect([...fields].filter(field => !named.has(field))).toEqual([])
})

const suite = ['consent.ts', 'token.ts', 'validation.ts', 'portal.ts', 'client.test.ts', 'services.test.ts']

test.each(suite)('each test of %s belongs to a row', name => {
  const text = readFileSync(join(root, 'test/contracts', name), 'utf8')
  // The title is the first text after `test(`, or after the table of `test.each(`.
  const titles = [...text.matchAll(/^ *(?:test|\](?: as const)?\))\(\n? *(['"])(.+?)\1,/gm)].map(([, , t]) => t)
  expect(titles.length).toBeGreaterThan(2)
  const shown = new Set(rows.map(row => row.named))
  expect(titles.filter(title => !shown.has(`contracts/${name}: ${title}`))).toEqual([])
})
