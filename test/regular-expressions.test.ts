import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { check } from 'recheck'
import { expect, test } from 'vitest'
import { parseAst } from 'vitest/node'

/** Expressions that the checker cannot prove linear, and why each is. Those without a pattern are made by `RegExp`. */
const exceptions: Readonly<Record<string, string>> = {
  'vocabulary/tax-numbers.ts': 'It matches at most 17 characters: no quantifier is open.',
  'vault/keyring-file.ts': 'It has a fixed length.',
  'api/config-template.ts': 'It matches at most a line of our own comments.',
  'pages/name-commands.ts /"[^"]*"|(?<!\\w)\'[^\']*\'|(?<![\\w./@:-])([a-z]+\\.[a-zA-Z]+)(?![\\w/-]|\\.\\w)(?:\\(([^()]*)\\))?/g':
    'A name begins where nothing of a name is before it, and a quoted text ends at the next quote.',
  'cli/printed-commands.ts /"[^"]*"|(?<![\\w./-])averba ([a-z-]+)(?: ([a-z][a-z-]*))?( --(?:store|config) \\S+| --help)?/g':
    'All after the first word may be missing, and a quoted text ends at the next quote.',
  'store/database/sqlite-connection.ts /(?<=values )\\([^()]+\\)/': 'It reads our own statements.',
  'api/option.ts /\\/\\*\\*((?:(?!\\*\\/).)*)\\*\\/\\s+[\'"]?([\\w.]+)[\'"]?\\s*=/gs': 'It reads our own classes.',
  'adapters/credentials/certificate.ts /-----BEGIN ((?:TRUSTED |X509 )?CERTIFICATE)-----[^-]+-----END \\1-----/g':
    'A match begins at a dash, and is read to the next dash.',
}

/** A regular expression in `src`; its text is unknown when it is made while the program runs. */
interface FoundExpression {
  readonly file: string
  readonly pattern?: string
  readonly flags?: string
}

const source = resolve(import.meta.dirname, '../src')

/** Finds every regular expression in `src`: literals, and calls of `RegExp`. */
function findExpressions(): FoundExpression[] {
  return globSync('**/*.ts', { cwd: source })
    .sort()
    .flatMap(file => expressionsIn(file, parseAst(readFileSync(join(source, file), 'utf8'), { lang: 'ts' })))
}

function expressionsIn(file: string, node: unknown): FoundExpression[] {
  if (typeof node !== 'object' || node === null) return []
  const { type, regex, callee }: { type?: unknown; regex?: object; callee?: { name?: unknown } } = node
  if (type === 'Literal' && regex) return [{ file, ...regex }]
  const isMade = (type === 'NewExpression' || type === 'CallExpression') && callee?.name === 'RegExp'
  return [...(isMade ? [{ file }] : []), ...Object.values(node).flatMap(each => expressionsIn(file, each))]
}

test('every regular expression is linear', { timeout: 120_000 }, async () => {
  const found = findExpressions()
  expect(found.length).toBeGreaterThan(100)
  const unproven: string[] = []
  for (const { file, pattern, flags = '' } of found) {
    if (pattern === undefined) unproven.push(file)
    else {
      const { status } = await check(pattern, flags, { checker: 'automaton', timeout: 30_000 })
      if (status !== 'safe') unproven.push(`${file} /${pattern}/${flags}`)
    }
  }
  expect(unproven.sort()).toEqual(Object.keys(exceptions).sort())
})

test('the checker finds what is not linear', async () => {
  expect(await check('\\s*,\\s*', '', { checker: 'automaton' })).toMatchObject({ status: 'vulnerable' })
})
