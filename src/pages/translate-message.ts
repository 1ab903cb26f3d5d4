import { portugueseMessages } from './portuguese-messages.ts'

/** The languages of reports. */
export type Language = 'pt-BR' | 'en'

/** A longer text is not ours alone. */
const charactersMax = 5_000
/** Of how many joined pieces a text of ours consists at most. */
const piecesMax = 16

/**
 * Translates a text that the library made, such as the message or hint of an error, or the detail of a check. The
 * library speaks English: its text is found again by the words in it that do not change, and the values between them
 * are translated likewise, unless they are quoted. What is not found stays as it is.
 */
export function translateMessage(text: string, language: Language): string {
  return language === 'en' || text.length > charactersMax ? text : translateJoined(text, templatesWithin(text))
}

/** Translates texts that are joined, such as a message and its hint: at each place the longest that is known. */
function translateJoined(text: string, templates: Templates): string {
  const pieces = splitAtJoints(text)
  let translated = ''
  for (let from = 0; from < pieces.length; ) {
    let end = Math.min(pieces.length, from + 2 * piecesMax - 1)
    let found: string | undefined
    for (; end > from && found === undefined; end -= 2)
      found = translateWhole(pieces.slice(from, end).join(''), templates)
    const next = found === undefined ? from + 1 : end + 2
    translated += `${found ?? pieces[from]}${pieces[next] ?? ''}`
    from = next + 1
  }
  return translated
}

/** Splits a text at its joints, which stay between the pieces. A quoted text is the host's, and stays whole. */
function splitAtJoints(text: string): string[] {
  const pieces: string[] = []
  let [begin, at] = [0, 0]
  while (at < text.length) {
    const closing = text[at] === '"' ? text.indexOf('"', at + 1) : -1
    const isJoint = /^[:;,] /.test(text.slice(at, at + 2))
    if (isJoint) {
      pieces.push(text.slice(begin, at), text.slice(at, at + 2))
      begin = at + 2
    }
    at = closing > 0 ? closing + 1 : isJoint ? begin : at + 1
  }
  return [...pieces, text.slice(begin)]
}

function translateWhole(text: string, templates: Templates): string | undefined {
  if (Object.hasOwn(portugueseMessages, text)) return portugueseMessages[text]
  for (const template of [firstWord(text), ''].flatMap(word => templates.get(word) ?? [])) {
    const values = valuesBetween(template, text)
    if (!values) continue
    const shown = values.map((value, i) => (isQuoted(template.parts, i) ? value : translateJoined(value, templates)))
    return fillPlaces(template.translation, shown)
  }
  // A code or a number may follow, such as (ENOTFOUND).
  const [, before, after] = /^(.+)( \([^() ]+\))$/.exec(text) ?? []
  const found = before === undefined ? undefined : translateWhole(before, templates)
  return found === undefined ? undefined : `${found}${after}`
}

interface Template {
  readonly parts: readonly string[]
  /** Of its parts. */
  readonly longest: string
  readonly translation: string
}

/** By their first word; those that begin with a value are under the empty word. */
type Templates = ReadonlyMap<string, readonly Template[]>

/** Those that say most come first: a short one may fit the text of a longer one. */
let known: readonly Template[] | undefined

/** The few texts with places for values that may occur in a text: whoever looks at each place looks at these only. */
function templatesWithin(text: string): Templates {
  known ??= Object.entries(portugueseMessages)
    .filter(([english]) => english.includes('{}'))
    .sort(([a], [b]) => b.replaceAll('{}', '').length - a.replaceAll('{}', '').length)
    .map(([english, translation]) => ({ parts: english.split('{}'), translation }))
    .map(each => ({ ...each, longest: each.parts.reduce((a, b) => (b.length > a.length ? b : a)) }))
  const within = known.filter(({ longest }) => text.includes(longest))
  return Map.groupBy(within, ({ parts }) => firstWord(parts[0] ?? ''))
}

/** The first word of a text, with the space after it; empty when the text has no space. */
function firstWord(text: string): string {
  return text.slice(0, text.indexOf(' ') + 1)
}

/** The values between the fixed parts of a template, if a text has all of these parts. */
function valuesBetween({ parts }: Template, text: string): string[] | undefined {
  const [first = '', ...others] = parts
  if (!text.startsWith(first)) return undefined
  const values: string[] = []
  let at = first.length
  for (const [place, part] of others.entries()) {
    const isLast = place === others.length - 1
    const end = isLast ? text.length - part.length : text.indexOf(part, at)
    if (end < at || !text.startsWith(part, end)) return undefined
    const value = text.slice(at, end)
    // None reaches over a joint: what is said after it is another text. The reason at the end may be of several.
    const isReason = isLast && part === '' && first !== '' && parts[place]?.endsWith(': ')
    if (!isQuoted(parts, place) && !isReason && /[:;] /.test(value)) return undefined
    values.push(value)
    at = end + part.length
  }
  return values
}

/** Whether the value of a place stands between quotes: it is a name that somebody gave. */
function isQuoted(parts: readonly string[], place: number): boolean {
  return parts[place]?.endsWith('"') === true && parts[place + 1]?.startsWith('"') === true
}

/** Fills the places of a text: `{}` in the order of the values, or `{2}` by their number from 1. */
export function fillPlaces(text: string, values: readonly unknown[]): string {
  let next = 0
  return text.replace(/\{(\d?)\}/g, (_, number: string) => {
    next += 1
    return String(values[(number === '' ? next : Number(number)) - 1])
  })
}
