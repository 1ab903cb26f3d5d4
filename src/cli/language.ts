import type { Language } from '../index.ts'
import { portuguese } from './portuguese.ts'

/** Says a text in the language of the terminal: the English text in the code is the key of its translation. */
export interface Say {
  (texts: TemplateStringsArray, ...values: readonly unknown[]): string
  readonly language: Language
  /** Translates a whole text, such as one of the help. */
  text(english: string): string
  /** A number of things, such as "1 call" or "2 calls". */
  count(count: number, noun: string): string
}

/** Creates what says texts in a language. A text without a translation stays English. */
export function createSay(language: Language): Say {
  const text = (english: string) => (language === 'en' ? english : (portuguese[english] ?? english))
  const say = (texts: TemplateStringsArray, ...values: readonly unknown[]) => fill(text(texts.join('{}')), values)
  const count = (n: number, noun: string) => {
    const [one = noun, many = `${noun}s`] = language === 'en' ? [] : text(noun).split('|')
    return `${n} ${n === 1 ? one : many}`
  }
  return Object.assign(say, { language, text, count })
}

/** Fills the places of a text: `{}` in the order of the values, or `{2}` by their number from 1. */
function fill(text: string, values: readonly unknown[]): string {
  let next = 0
  return text.replace(/\{(\d?)\}/g, (_, number: string) => {
    next += 1
    return String(values[(number === '' ? next : Number(number)) - 1])
  })
}

/** Finds the language of a terminal by its environment, as other programs do. */
export function languageOf({ LC_ALL, LC_MESSAGES, LANG }: Readonly<Record<string, string | undefined>>): Language {
  return /^pt/i.test(LC_ALL || LC_MESSAGES || LANG || '') ? 'pt-BR' : 'en'
}
