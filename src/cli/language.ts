import { AverbaError, type Language } from '../index.ts'
import { nameCommands } from '../pages/name-commands.ts'
import { fillPlaces, translateMessage } from '../pages/translate-message.ts'
import { portuguese } from './portuguese.ts'

/** Says a text in the language of the terminal: the English text in the code is the key of its translation. */
export interface Say {
  (texts: TemplateStringsArray, ...values: readonly unknown[]): string
  readonly language: Language
  /** Translates a whole text, such as one of the help. */
  text(english: string): string
  /** Translates what the library said: an error, a hint, the detail of a check. */
  message(english: string): string
  /** Completes the commands in a text by what names the log. */
  commands(text: string): string
  /** A number of things, such as "1 call" or "2 calls". */
  count(count: number, noun: string): string
}

export function createSay(language: Language, commands: Say['commands'] = given => given): Say {
  const text = (english: string) => (language === 'en' ? english : (portuguese[english] ?? english))
  const say = (texts: TemplateStringsArray, ...values: readonly unknown[]) =>
    fillPlaces(commands(text(texts.join('{}'))), values)
  const message = (english: string) => commands(nameCommands(translateMessage(english, language)))
  const count = (n: number, noun: string) => {
    const [one, many] = text(bothNumbers(noun)).split('|')
    return `${n} ${n === 1 ? one : many}`
  }
  return Object.assign(say, { language, text, message, commands, count })
}

/** One and many of a noun, such as `entry|entries`: the key of its translation. */
export function bothNumbers(noun: string): string {
  return `${noun}|${noun.replace(/(?<=[^aeo])y$/, 'ie')}s`
}

/** Finds the language of a terminal by its environment, as other programs do. */
export function languageOf({ LC_ALL, LC_MESSAGES, LANG }: Readonly<Record<string, string | undefined>>): Language {
  return /^pt/i.test(LC_ALL || LC_MESSAGES || LANG || '') ? 'pt-BR' : 'en'
}

export const languages = ['en', 'pt-BR'] as const

/** The language that a text names, such as `pt_br`. */
export function toLanguage(text: string | undefined): Language | undefined {
  return languages.find(each => each.toLowerCase() === text?.toLowerCase().replace('_', '-'))
}

export function readLanguage(text: string): Language {
  const language = toLanguage(text)
  if (language !== undefined) return language
  throw new AverbaError('INVALID_INPUT', 'Cannot use --lang: the language is unknown', { hint: 'Use en or pt-BR' })
}
