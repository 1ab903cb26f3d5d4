import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { advices } from '../../src/cli/commands/dev.ts'
import { bothNumbers, createSay } from '../../src/cli/language.ts'
import { portuguese } from '../../src/cli/portuguese.ts'
import { httpStatuses } from '../../src/index.ts'
import { newProgram } from '../support/command-line.ts'
import { textsIn } from '../support/source-texts.ts'

const folder = resolve(import.meta.dirname, '../../src/cli')
const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter(file => file.endsWith('.ts'))
  .map(file => readFileSync(join(folder, file), 'utf8'))

/** The words of plans and their results, of certificates, and the headings of the help. */
const words = [
  ...['create', 'change', 'adopt', 'leave', 'delete', 'taken', 'take over'],
  ...['settled', 'declined', 'deferred', 'unknown', 'stored', 'recovered', 'equal', 'different'],
  ...['certificate', 'portalCertificate', 'receiverCertificate'],
  ...['Usage:', 'Options:', 'Commands:', 'Arguments:'],
]

/** Every text that the command line says: of its help, and in the code. */
function textsSaid(): Set<string> {
  const texts = new Set([...Object.keys(httpStatuses), ...Object.values(advices), ...words])
  const english = createSay('en')
  const recording = Object.assign((...given: Parameters<typeof english>) => english(...given), english, {
    text: (text: string) => {
      texts.add(text)
      return text
    },
  })
  newProgram(undefined, recording).helpInformation()
  for (const { text, before } of sources.flatMap(textsIn)) {
    if (/\b(say\.count|actOnEach)\([^'`]*, $/.test(before)) texts.add(bothNumbers(text))
    if (/\bsay$|\bsay\.text\($/.test(before)) texts.add(text)
  }
  return texts
}

test('every text of the command line has a Portuguese one, with the same places for values, and no other has', () => {
  const texts = [...textsSaid()].sort()
  expect(texts.length).toBeGreaterThan(250)
  expect(texts.filter(text => !Object.hasOwn(portuguese, text))).toEqual([])
  expect(Object.keys(portuguese).filter(text => !texts.includes(text))).toEqual([])
  const places = (text: string) => text.match(/\{\d?\}/g)?.length ?? 0
  expect(Object.entries(portuguese).filter(([english, text]) => places(english) !== places(text))).toEqual([])
})
