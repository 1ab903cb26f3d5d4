import type { Recorded } from '../message.ts'
import { english } from './english.ts'
import type { Language } from './language.ts'
import { portuguese } from './portuguese.ts'
import type { Words } from './words.ts'

/** The words of a language. */
export function wordsOf(language: Language): Words {
  return language === 'en' ? english : portuguese
}

/** Says an event in words. */
export function describeEvent({ type, data }: Pick<Recorded, 'type' | 'data'>, words: Words): string {
  const events: Readonly<Record<string, ((data: never) => string) | undefined>> = words.events
  return events[type]?.(data as never) ?? words.otherEvent(type) // The words of a type take the data of that type.
}

/** Names a kind of sealed data. */
export function describeKind(kind: string, { kinds }: Words): string {
  return kinds[kind] ?? kinds[kind.slice(kind.indexOf('/') + 1)] ?? kind
}
