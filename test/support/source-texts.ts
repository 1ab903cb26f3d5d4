/** A text in the code: its places for values are `{}`, and texts that are added to each other are one. */
export interface SourceText {
  readonly text: string
  /** The code before it on its line, and the line above. */
  readonly before: string
}

const quotes: ReadonlySet<string | undefined> = new Set(["'", '"', '`'])

/** Finds the texts in TypeScript, those within the values of a template too. */
export function textsIn(source: string): SourceText[] {
  const found: SourceText[] = []
  for (let at = 0; at < source.length; ) {
    const next = skipOthers(source, at)
    if (next > at) at = next
    else if (quotes.has(source[at])) {
      const lineAbove = source.lastIndexOf('\n', source.lastIndexOf('\n', at) - 1)
      const { text, values, end } = readAdded(source, at)
      found.push({ text, before: source.slice(lineAbove + 1, at) }, ...values.flatMap(textsIn))
      at = end
    } else at += 1
  }
  return found
}

/** Skips a comment or a regular expression. */
function skipOthers(source: string, at: number): number {
  if (source.startsWith('//', at)) return endOf(source.indexOf('\n', at), source)
  if (source.startsWith('/*', at)) return endOf(source.indexOf('*/', at), source) + 2
  const expression = /\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y
  expression.lastIndex = at
  const isExpected = source[at] === '/' && /[(,=:[!&|?{;]\s*$|return\s*$/.test(source.slice(Math.max(0, at - 20), at))
  return isExpected && expression.test(source) ? expression.lastIndex : at
}

function endOf(index: number, { length }: string): number {
  return index < 0 ? length : index
}

interface Read {
  readonly text: string
  readonly values: readonly string[]
  readonly end: number
}

/** Reads a text, and what is added to it as a text. */
function readAdded(source: string, at: number): Read {
  const first = readText(source, at)
  const [added = ''] = /^\s*\+\s*(?=['"`])/.exec(source.slice(first.end, first.end + 100)) ?? []
  if (added === '') return first
  const more = readAdded(source, first.end + added.length)
  return { text: first.text + more.text, values: [...first.values, ...more.values], end: more.end }
}

/** Reads a text from its quote on. */
function readText(source: string, from: number): Read {
  const quote = source[from]
  const values: string[] = []
  let text = ''
  for (let at = from + 1; at < source.length; at++) {
    if (source[at] === quote) return { text, values, end: at + 1 }
    if (source[at] === '\\') {
      at += 1
      text += source[at] === 'n' ? '\n' : source[at]
    } else if (quote === '`' && source.startsWith('${', at)) {
      const end = endOfValue(source, at + 2)
      values.push(source.slice(at + 2, end))
      text += '{}'
      at = end
    } else text += source[at]
  }
  throw new Error('A text does not end')
}

/** Finds the brace that ends a value within a template. */
function endOfValue(source: string, from: number): number {
  let depth = 0
  for (let at = from; at < source.length; at++) {
    if (quotes.has(source[at])) at = readText(source, at).end - 1
    else if (source[at] === '{') depth += 1
    else if (source[at] === '}' && depth-- === 0) return at
  }
  throw new Error('A value does not end')
}
