import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseAst } from 'vitest/node'

/** A regular expression in `src`; its text is unknown when it is made while the program runs. */
export interface FoundExpression {
  readonly file: string
  readonly pattern?: string
  readonly flags?: string
}

const source = resolve(import.meta.dirname, '../../src')

/** Finds every regular expression in `src`: literals, and calls of `RegExp`. */
export function findExpressions(): FoundExpression[] {
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
