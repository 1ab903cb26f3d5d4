import { printable } from '../vocabulary/printable.ts'
import type { Line } from './output.ts'
import type { Terminal } from './terminal.ts'

/** A row of a table: its cells, and how it is shown on a terminal with colours. */
export interface Row {
  readonly cells: readonly string[]
  readonly style?: Line['style']
}

const gap = '  '
/** The last column has so many characters and its longest word beside the others, or else lines of its own. */
const lastMin = 24
const indent = gap

/** Formats a table that fits the terminal, or says `none`. The last column is wrapped; nothing is cut off. */
export function* formatTable(
  { stdout }: Pick<Terminal, 'stdout'>,
  headings: readonly string[],
  rows: readonly Row[],
  none?: string,
): Iterable<Line> {
  if (none !== undefined && rows.length === 0) return yield { text: none }
  // A terminal without a size says 0.
  const width = stdout.isTTY ? stdout.columns || 80 : Number.POSITIVE_INFINITY
  const all = [
    { cells: headings, style: 'bold' } as const,
    ...rows.map(each => ({ ...each, cells: each.cells.map(printable) })),
  ]
  const last = headings.length - 1
  const widths = headings.map((_, column) => longestOf(all.map(({ cells }) => cells[column] ?? '')))
  const before = widths.slice(0, last).reduce((sum, each) => sum + each + gap.length, 0)
  const words = all.flatMap(({ cells }) =>
    (cells[last] ?? '').split(' ').filter(word => word.length <= width - indent.length),
  )
  const needed = Math.max(Math.min(lastMin, widths[last] ?? 0), longestOf(words))
  const isBeside = before + needed <= width
  const room = Math.max(lastMin, width - (isBeside ? before : indent.length))
  for (const { cells, style } of all) {
    const head = cells
      .slice(0, last)
      .map((cell, column) => cell.padEnd(widths[column] ?? 0) + gap)
      .join('')
    const [first = '', ...more] = wrap(cells[last] ?? '', room)
    const pad = isBeside ? ' '.repeat(before) : indent
    const texts = isBeside
      ? [head + first, ...more.map(each => pad + each)]
      : [head, ...[first, ...more].map(each => pad + each)]
    for (const text of texts) if (text.trim() !== '') yield { text: text.trimEnd(), style }
  }
}

/** The rows of a list up to its limit, of which one more was read. */
export function upToLimit<T>(
  rows: readonly T[],
  limit: number,
): { readonly shown: readonly T[]; readonly more: boolean } {
  return { shown: rows.slice(0, limit), more: rows.length > limit }
}

/** Formats a list as `formatTable`, and says when there are more rows than its limit. */
export function* formatList(
  terminal: Terminal,
  headings: readonly string[],
  rows: readonly Row[],
  { none, more }: { readonly none: string; readonly more: boolean },
): Iterable<Line> {
  yield* formatTable(terminal, headings, rows, none)
  if (more) yield { text: terminal.say`There are more: --limit shows them.` }
}

function longestOf(texts: readonly string[]): number {
  return texts.reduce((longest, { length }) => Math.max(longest, length), 0)
}

/** Breaks a text between words, or within one that is too long. */
function wrap(text: string, width: number): string[] {
  if (text.length <= width) return [text]
  const space = text.lastIndexOf(' ', width)
  const end = space > 0 ? space : width
  return [text.slice(0, end), ...wrap(text.slice(end).trimStart(), width)]
}
