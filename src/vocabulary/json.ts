import type { Json } from './message.ts'

/** How deep JSON may be nested: `JSON.stringify` would overflow the stack on much deeper values. */
const depthMax = 100

/**
 * Parses JSON; `undefined` when the text is invalid, nested too deeply, or has an object with two members of one name,
 * of which another reader might believe the other one.
 */
export function parseJson(text: string): Json | undefined {
  const { value, ambiguous } = parseRecords(text) ?? {}
  return ambiguous?.size === 0 ? value : undefined
}

/** A list, and the places in it of the records with two members of one name. Any other value is at place 0. */
export interface ParsedRecords {
  readonly value: Json
  readonly ambiguous: ReadonlySet<number>
}

/** Parses JSON, and finds the records that are ambiguous; `undefined` when it is invalid or nested too deeply. */
export function parseRecords(text: string): ParsedRecords | undefined {
  try {
    // First, since the parser is slow on a text that is nested too deeply.
    const written = countWritten(text, text.trimStart().startsWith('['))
    if (!written) return undefined
    const value: Json = JSON.parse(text)
    const ambiguous = new Set<number>()
    // `JSON.parse` keeps one of two members of one name, so there are fewer than were written.
    for (const [place, record] of (Array.isArray(value) ? value : [value]).entries())
      if (countMembers(record) !== written[place]) ambiguous.add(place)
    return { value, ambiguous }
  } catch {
    return undefined
  }
}

const [quote, comma, colon] = [0x22, 0x2c, 0x3a]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

/** How many members each record of JSON has in the text; `undefined` when it is nested too deeply. */
function countWritten(text: string, isList: boolean): number[] | undefined {
  const written: number[] = []
  let members = 0
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === colon) members += 1
    else if (code === closeBrace || code === closeBracket) depth -= 1
    else if (code === openBrace || code === openBracket) {
      depth += 1
      if (depth > depthMax) return undefined
    } else if (code === comma && isList && depth === 1) {
      written.push(members)
      members = 0
    }
  }
  written.push(members)
  return written
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text[end - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

function countMembers(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Array.isArray(value) ? value : Object.values(value)
  let count = Array.isArray(value) ? 0 : members.length
  for (const member of members) count += countMembers(member)
  return count
}
