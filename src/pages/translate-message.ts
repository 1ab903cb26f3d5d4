import type { Language } from './labels.ts'
import { portugueseMessages } from './portuguese-messages.ts'

/** A longer text is not ours alone. */
const charactersMax = 2_000

/**
 * Translates a text that the library made, such as the message or hint of an error, or the detail of a check. The
 * library speaks English: its text is found again by the words in it that do not change, and the values between them
 * are translated likewise. What is not found stays as it is.
 */
export function translateMessage(text: string, language: Language): string {
  return language === 'en' || text.length > charactersMax ? text : translateJoined(text)
}

/** Translates texts that are joined, such as a message and its hint: at each place the longest that is known. */
function translateJoined(text: string): string {
  const pieces = text.split(/([:;,] )/)
  let translated = ''
  for (let from = 0; from < pieces.length; ) {
    let end = pieces.length
    let found: string | undefined
    for (; end > from && found === undefined; end -= 2) found = translateWhole(pieces.slice(from, end).join(''))
    const next = found === undefined ? from + 1 : end + 2
    translated += `${found ?? pieces[from]}${pieces[next] ?? ''}`
    from = next + 1
  }
  return translated
}

function translateWhole(text: string): string | undefined {
  if (Object.hasOwn(portugueseMessages, text)) return portugueseMessages[text]
  for (const { parts, translation } of templates()) {
    const values = valuesBetween(parts, text)
    if (values) return fillPlaces(translation, values.map(translateJoined))
  }
  return undefined
}

interface Template {
  readonly parts: readonly string[]
  readonly translation: string
}

let known: readonly Template[] | undefined

/** The texts with places for values. Those that say most come first: a short one may fit the text of a longer one. */
function templates(): readonly Template[] {
  known ??= Object.entries(portugueseMessages)
    .filter(([english]) => english.includes('{}'))
    .sort(([a], [b]) => b.replaceAll('{}', '').length - a.replaceAll('{}', '').length)
    .map(([english, translation]) => ({ parts: english.split('{}'), translation }))
  return known
}

/** The values between the fixed parts of a text, if it has all of them. None but the last may be of two texts. */
function valuesBetween(parts: readonly string[], text: string): string[] | undefined {
  const [first = '', ...others] = parts
  if (!text.startsWith(first)) return undefined
  const values: string[] = []
  let at = first.length
  for (const [i, part] of others.entries()) {
    const isLast = i === others.length - 1
    const end = isLast ? text.length - part.length : text.indexOf(part, at)
    if (end < at || !text.startsWith(part, end)) return undefined
    const value = text.slice(at, end)
    if ((isLast && part === '' ? /; / : /[:;] /).test(value)) return undefined
    values.push(value)
    at = end + part.length
  }
  return values
}

/** Fills the places of a text: `{}` in the order of the values, or `{2}` by their number from 1. */
export function fillPlaces(text: string, values: readonly unknown[]): string {
  let next = 0
  return text.replace(/\{(\d?)\}/g, (_, number: string) => {
    next += 1
    return String(values[(number === '' ? next : Number(number)) - 1])
  })
}
