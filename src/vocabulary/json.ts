import type { Json } from './message.ts'

/** How deep JSON may be nested: `JSON.stringify` would overflow the stack on much deeper values. */
const depthMax = 100

/** How many characters outside of texts a value has at most, and members: only lists have more, which take long. */
const charactersMax = 1_048_576
const membersMax = 100_000

/**
 * Parses JSON; `undefined` when the text is invalid, too large, nested too deeply, or has an object with two members of
 * one name, of which another reader might believe the other one.
 */
export function parseJson(text: string): Json | undefined {
  try {
    const { value, isAmbiguous } = parseValue(text, scanValue(text, 0))
    return isAmbiguous ? undefined : value
  } catch {
    return undefined
  }
}

const blank = /^[ \t\n\r]*$/

/** A record of a list: it is ambiguous with two members of one name. `end` is its place in the text. */
export interface ParsedRecord {
  readonly value: Json
  readonly isAmbiguous: boolean
  readonly end: number
}

/**
 * Parses a list in JSON record by record, so that a reader of many can pause.
 *
 * @throws {SyntaxError} when it is no list, or a record is too large or nested too deeply
 */
export function* parseRecords(text: string): Generator<ParsedRecord, undefined> {
  let start = text.indexOf('[') + 1
  if (start === 0 || !blank.test(text.slice(0, start - 1))) throw new SyntaxError()
  let last: string | undefined
  for (let isFirst = true; isFirst || last === ','; isFirst = false) {
    const scanned = scanValue(text, start)
    const value = text.slice(start, scanned.end)
    last = text[scanned.end]
    start = scanned.end + 1
    const isEmpty = isFirst && last === ']' && blank.test(value)
    if (!isEmpty) yield { ...parseValue(value, scanned), end: scanned.end }
  }
  if (last !== ']' || !blank.test(text.slice(start))) throw new SyntaxError()
}

function parseValue(text: string, { written }: ScannedValue): Omit<ParsedRecord, 'end'> {
  const value: Json = JSON.parse(text)
  // `JSON.parse` keeps one of two members of one name, so there are fewer than were written.
  return { value, isAmbiguous: countMembers(value) !== written }
}

const [quote, comma, colon] = [0x22, 0x2c, 0x3a]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

interface ScannedValue {
  readonly end: number
  /** How many members its objects have in the text. */
  readonly written: number
}

/** Finds the end of a value. Throws when it is too large or nested too deeply: the parser would be slow on it. */
function scanValue(text: string, start: number): ScannedValue {
  let written = 0
  let depth = 0
  let end = start
  let members = 0
  for (let characters = 0; end < text.length; end++) {
    characters += 1
    if (characters > charactersMax || members > membersMax) throw new SyntaxError()
    const code = text.charCodeAt(end)
    if (code === quote) end = endOfString(text, end)
    else if (code === colon) written += 1
    else if (code === openBrace || code === openBracket) {
      depth += 1
      if (depth > depthMax) throw new SyntaxError()
    } else if (depth === 0 && (code === comma || code === closeBracket)) break
    else if (code === comma) members += 1
    else if (code === closeBrace || code === closeBracket) depth -= 1
  }
  return { end, written }
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
