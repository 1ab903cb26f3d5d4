import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { composedMessages, portugueseMessages } from '../../src/pages/portuguese-messages.ts'
import { fillPlaces, translateMessage } from '../../src/pages/translate-message.ts'
import { textsIn } from '../support/source-texts.ts'

const folder = resolve(import.meta.dirname, '../../src')
/** Every sentence of these is shown: in details of checks, problems of a diagnosis, reasons of a plan, or a verdict. */
const wholly =
  /^(api\/(health|option\.|consents\/freshness|subscriptions\/(alerts|plan)\.|(log|receiver)\/module)|store\/checks|proof)/
const isSql =
  /^(select|insert|update|delete|create|with|pragma|drop|alter|from|where|order by|and|or) |^[\w.]+ as \w+$/i
/** What the simulated services say is theirs, and the words of the command line are in its own list. */
const isOthers = /portuguese|^pages\/|^simulation\/services\//
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts') && !isOthers.test(file))
  .map(file => ({ file, texts: textsIn(readFileSync(join(folder, file), 'utf8')) }))
const all = new Set(files.flatMap(({ texts }) => texts.flatMap(({ text }) => [text, withoutJoint(text)])))
const entries = Object.entries(portugueseMessages)

/** A text with fewer letters beside its values would be found within others. */
const lettersMin = 8

function lettersOf(text: string): number {
  return text.replace(/[^a-z]/gi, '').length
}

/** Without what joins a text to the one before or after it. */
function withoutJoint(text: string): string {
  return text.replace(/^(\{\})?[:;,] |^ /, '').replace(/:? $/, '')
}

/** What no operator reads: file formats, the keys of alerts, and parts of a page. */
const isInternal =
  /^averba (disclosure 1|record key)|^unreadable \{|\nextra |^cosignature|<div |^averba \w+ list$|--help |^The last run here|effects\.list/

/** What an operator may read in the command line or the console. */
function textsShown(): string[] {
  const shown = files.flatMap(({ file, texts }) =>
    texts.flatMap(({ text, before }) => {
      const isSentence = / /.test(text) && lettersOf(text) >= lettersMin && !isSql.test(text) && !isInternal.test(text)
      const isSaid =
        /^(Cannot|its?|they) /.test(text) ||
        /(AverbaError|\b[a-z]\w*Error)\([^)]*$/.test(before) ||
        /(hint|detail)\b['"]?\s*[:=][^\n]*\n?[^\n:=]*$/i.test(before)
      return isSentence && (isSaid || wholly.test(file)) ? [withoutJoint(text)] : []
    }),
  )
  return [...new Set(shown)].sort()
}

test('every error, hint, detail of a check and reason of a plan has a Portuguese text', () => {
  const shown = textsShown()
  expect(shown.length).toBeGreaterThan(500)
  expect(shown.filter(text => !Object.hasOwn(portugueseMessages, text))).toEqual([])
})

test('no Portuguese text is left of one that the library no longer says', () => {
  const isLeft = (english: string) => !all.has(english) && !Object.hasOwn(composedMessages, english)
  expect(entries.map(([english]) => english).filter(isLeft)).toEqual([])
})

test('each text with values is found again, and has them in its translation', () => {
  for (const [english, translation] of entries) {
    const count = english.split('{}').length - 1
    if (count > 0) expect(lettersOf(english), english).toBeGreaterThanOrEqual(lettersMin)
    const values = Array.from({ length: count }, (_, i) => `<${i + 1}>`)
    expect(translateMessage(fillPlaces(english, values), 'pt-BR')).toBe(fillPlaces(translation, values))
    for (const value of values) expect(fillPlaces(translation, values), english).toContain(value)
  }
})
