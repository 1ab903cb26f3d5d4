import { parseAst } from 'vitest/node'

/** A text in the code: its places for values are `{}`, and texts that are added to each other are one. */
export interface SourceText {
  readonly text: string
  /** The code before it on its line, and the line above. */
  readonly before: string
}

/** Finds the texts in TypeScript, those within the values of a template too. */
export function textsIn(source: string): SourceText[] {
  const textsOf = (node: unknown): SourceText[] => {
    if (typeof node !== 'object' || node === null) return []
    const read = readText(node)
    if (!read) return Object.values(node).flatMap(textsOf)
    const lineAbove = source.lastIndexOf('\n', source.lastIndexOf('\n', read.start) - 1)
    return [{ text: read.text, before: source.slice(lineAbove + 1, read.start) }, ...read.values.flatMap(textsOf)]
  }
  return textsOf(parseAst(source, { lang: 'ts' }))
}

/** Reads a text, and what is added to it as a text. */
function readText(node: object): { start: number; text: string; values: unknown[] } | undefined {
  const { start = 0, type, value, operator, left, right, quasis = [], expressions = [] }: Node = node
  if (type === 'Literal' && typeof value === 'string') return { start, text: value, values: [] }
  if (type === 'TemplateLiteral') {
    const text = quasis.map(({ value }) => value.cooked).join('{}')
    return { start, text, values: expressions }
  }
  const [first, more] =
    type === 'BinaryExpression' && operator === '+' && left && right ? [left, right].map(readText) : []
  return first && more && { start, text: first.text + more.text, values: [...first.values, ...more.values] }
}

/** What is read of the nodes of the syntax tree. */
interface Node {
  start?: number
  type?: unknown
  value?: unknown
  operator?: unknown
  left?: object
  right?: object
  quasis?: { value: { cooked: string } }[]
  expressions?: unknown[]
}
