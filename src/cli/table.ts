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

/** Formats a table that fits the terminal, or says `none`. What has no room gets further lines; nothing is cut off. */
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
  const columns = headings.map((_, column) => all.map(({ cells }) => cells[column] ?? ''))
  const lines = placeColumns(columns, width)
  for (const { cells, style } of all)
    for (const line of lines) {
      let texts = ['']
      for (const { column, from } of line) {
        const [before = ''] = texts
        // The first column names the row, and is copied: it is never broken.
        const room = column === 0 ? Number.POSITIVE_INFINITY : Math.max(lastMin, width - from)
        texts = wrap(cells[column] ?? '', room).map((part, i) => (i === 0 ? before : '').padEnd(from) + part)
      }
      for (const text of texts) if (text.trim() !== '') yield { text: text.trimEnd(), style }
    }
}

/** The lines of a row: where each column begins. A column for which a line has no room begins the next, indented. */
function placeColumns(columns: readonly (readonly string[])[], width: number) {
  const lines: { readonly column: number; readonly from: number }[][] = []
  let end = -gap.length
  for (const [column, cells] of columns.entries()) {
    const length = longestOf(cells)
    const isFitting = (word: string) => word.length <= width - gap.length
    // The last one is wrapped.
    const isLast = column === columns.length - 1
    const pieces = isLast ? cells.flatMap(cell => cell.split(' ').filter(isFitting)) : cells
    const needed = Math.max(longestOf(pieces), Math.min(length, lastMin))
    const isBeside = column === 0 || end + gap.length + needed <= width
    const from = isBeside ? end + gap.length : gap.length
    if (isBeside && column > 0) lines.at(-1)?.push({ column, from })
    else lines.push([{ column, from }])
    end = from + length
  }
  return lines
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
