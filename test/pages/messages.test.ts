import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { composedMessages, portugueseMessages } from '../../src/pages/portuguese-messages.ts'
import { fillPlaces, translateMessage } from '../../src/pages/translate-message.ts'
import { cpuMs } from '../support/cpu-ms.ts'
import { textsIn } from '../support/source-texts.ts'

const folder = resolve(import.meta.dirname, '../../src')
/** The library: every sentence in it is translated, or listed in `not-shown.txt` because no operator reads it. */
const isLibrary = /^(adapters|api|averba|engine|machines|operations|proof|runtime|store|vault|vocabulary)\//
const lines = readFileSync(join(import.meta.dirname, 'not-shown.txt'), 'utf8')
  .trimEnd()
  .split('\n')
const notShown = new Set<string>(lines.map(line => JSON.parse(line)))
const isCode =
  /^(select|insert|update|delete|create|with|pragma|drop|alter|from|where|order by|and|or|left join|join|set|returning|on conflict|values|not exists|exists|begin|commit|rollback|listen|vacuum|union|group by|limit) |^[\w.]+ as \w+$|\n|=>|select |\bwhere \b|\{ [a-z]/i

/** What the simulated services say is theirs, and the words of the command line are in its own list. */
const isOthers = /portuguese|^pages\/|^simulation\/services\//
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts') && !isOthers.test(file))
  .map(file => ({ file, texts: textsIn(readFileSync(join(folder, file), 'utf8')) }))
const all = new Set(files.flatMap(({ texts }) => texts.flatMap(({ text }) => [text, withoutJoint(text)])))
const entries = Object.entries(portugueseMessages)

const inPortuguese = (text: string) => translateMessage(text, 'pt-BR')

/** A text with fewer letters beside its values would be found within others. */
const lettersMin = 8

const lettersOf = (text: string) => text.replace(/[^a-z]/gi, '').length

/** Without what joins a text to the one before or after it. */
function withoutJoint(text: string): string {
  return text.replace(/^(\{\})?[:;,] |^ /, '').replace(/:? $/, '')
}

/** What an operator may read in the command line or the console. */
function textsShown(): string[] {
  const shown = files.flatMap(({ file, texts }) =>
    texts.flatMap(({ text, before }) => {
      const isSaid = /^(Cannot|its?|they) /.test(text) || /\b(hint|AverbaError)\b[^\n]*\n?[^\n]*$/.test(before)
      const isSentence = lettersOf(text) >= lettersMin && !isCode.test(text.trim())
      return isSentence && (isSaid || isLibrary.test(file)) ? [withoutJoint(text)] : []
    }),
  )
  return [...new Set(shown)].filter(text => text.includes(' ') && !notShown.has(text)).sort()
}

test('every error, hint, detail of a check and reason of a plan has a Portuguese text', () => {
  const shown = textsShown()
  expect(shown.length).toBeGreaterThan(900)
  expect(shown.filter(text => !Object.hasOwn(portugueseMessages, text))).toEqual([])
})

test('nothing is listed as shown to no operator that is not there, or is translated', () => {
  expect([...notShown].filter(text => !all.has(text) || Object.hasOwn(portugueseMessages, text))).toEqual([])
})

test('no Portuguese text is left of one that the library no longer says', () => {
  const isLeft = (english: string) => !all.has(english) && !Object.hasOwn(composedMessages, english)
  expect(entries.map(([english]) => english).filter(isLeft)).toEqual([])
})

test('each text with values is found again, and has them in its translation', () => {
  for (const [english, translation] of entries) {
    const count = english.split('{}').length - 1
    expect(english, 'a word alone may be a name').toContain(' ')
    if (count > 0) expect(lettersOf(english), english).toBeGreaterThanOrEqual(lettersMin)
    const values = Array.from({ length: count }, (_, i) => `<${i + 1}>`)
    expect(inPortuguese(fillPlaces(english, values))).toBe(fillPlaces(translation, values))
    for (const value of values) expect(fillPlaces(translation, values), english).toContain(value)
  }
})

test('what stands between quotes is a name that somebody gave, and stays as it is', () => {
  for (const [english] of entries)
    for (const name of [english.replaceAll('{}', 'x').replaceAll('"', "'"), 'keys', 'subscriptions'])
      expect(inPortuguese(`Cannot open "${name}": it is missing`)).toBe(`Não é possível abrir "${name}": falta`)
  const names = 'store, pool, keyring, keys, receiver, subscriptions, certificate, and'
  expect(inPortuguese(`Known options: ${names}`)).toBe(`Opções conhecidas: ${names}`)
})

test('joined texts are translated one by one, however many there are', () => {
  const fault = 'the leaf at 12 is not the hash of its header'
  const translated = inPortuguese(fault)
  expect(translated).not.toBe(fault)
  const many = Array.from({ length: 90 }, () => fault)
  expect(inPortuguese(many.join('; '))).toBe(many.map(() => translated).join('; '))
  expect(inPortuguese(`Cannot read "a: b; c": ${fault}: Set both by NTP`)).toContain(translated)
  const refused = 'Cannot do this now: it may have been done and is not repeated automatically: a person has to decide'
  expect(inPortuguese(refused)).toMatch(/^Não é possível .* uma pessoa tem de decidir$/)
})

test('no text of five thousand characters holds up a page', async () => {
  for (const piece of ['a, ', 'a: ', '; ', 'Cannot use ', 'Cannot use the "x": ', 'the leaf at 3 is, ', '"', 'it '])
    expect(await cpuMs(() => inPortuguese(piece.repeat(5_000 / piece.length))), piece).toBeLessThan(250)
})
