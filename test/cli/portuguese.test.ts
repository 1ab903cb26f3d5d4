import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { createSay } from '../../src/cli/language.ts'
import { portuguese } from '../../src/cli/portuguese.ts'
import { createProgram } from '../../src/cli/program.ts'
import { httpStatuses } from '../../src/index.ts'

const folder = resolve(import.meta.dirname, '../../src/cli')
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .map(file => readFileSync(join(folder, file), 'utf8'))

/** What commander says about wrong arguments. */
const usageErrors = [
  "error: missing required argument '{}'",
  "error: required option '{}' not specified",
  "error: option '{}' argument missing",
  "error: unknown command '{}'",
  "error: unknown option '{}'",
]

/** Reads a template text from after its first quote: its parts with `{}` between them, and where it ends. */
function readTemplate(source: string, from: number): { readonly key: string; readonly end: number } {
  let key = ''
  for (let at = from; at < source.length; at++) {
    if (source[at] === '`') return { key, end: at }
    if (source.startsWith('${', at)) {
      at = skipValue(source, at + 2)
      key += '{}'
    } else key += source[at]
  }
  throw new Error('A template does not end')
}

/** Finds the brace that ends a value within a template. */
function skipValue(source: string, from: number): number {
  let depth = 0
  for (let at = from; at < source.length; at++) {
    if (source[at] === '`') at = readTemplate(source, at + 1).end
    else if (source[at] === '{') depth += 1
    else if (source[at] === '}' && depth-- === 0) return at
  }
  throw new Error('A value does not end')
}

/** Every text that the command line says: of its help, and in the code. */
function textsSaid(): Set<string> {
  const texts = new Set<string>(Object.keys(httpStatuses))
  const english = createSay('en')
  const recording = Object.assign((...given: Parameters<typeof english>) => english(...given), english, {
    text: (text: string) => {
      texts.add(text)
      return text
    },
  })
  const terminal = { say: recording, stdout: process.stdout, stderr: process.stderr }
  createProgram(terminal as never, async () => undefined).helpInformation() // It uses nothing else.
  for (const source of sources) {
    for (const { index } of source.matchAll(/\bsay`/g)) texts.add(readTemplate(source, index + 4).key)
    for (const [, noun = ''] of source.matchAll(/say\.count\([^']*, '(\w[\w ]*)'\)/g)) texts.add(noun)
    for (const [, noun = ''] of source.matchAll(/describeDone\(.*, '(\w+)'\)/g)) texts.add(noun)
    for (const [, text = ''] of source.matchAll(/say\.text\('([^']+)'\)/g)) texts.add(text)
  }
  for (const text of ['Usage:', 'Options:', 'Commands:', 'Arguments:', ...usageErrors]) texts.add(text)
  return texts
}

test('every text of the command line has a Portuguese one, with the same places for values, and no other has', () => {
  const texts = [...textsSaid()].sort()
  expect(texts.length).toBeGreaterThan(250)
  expect(texts.filter(text => !Object.hasOwn(portuguese, text))).toEqual([])
  expect(Object.keys(portuguese).filter(text => !texts.includes(text))).toEqual([])
  const places = (text: string) => text.match(/\{\d?\}/g)?.length ?? 0
  expect(Object.entries(portuguese).filter(([english, text]) => places(english) !== places(text))).toEqual([])
})
