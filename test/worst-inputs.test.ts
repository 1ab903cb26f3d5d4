import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import * as consent from '../src/adapters/consent/protocol.ts'
import { isXmlFault, maskNumbers, readListing, readProblem } from '../src/adapters/http/answer-body.ts'
import { declaredMeaning, formOf, isOwnForm, meaningOf } from '../src/adapters/http/answer-meaning.ts'
import { redactEcho } from '../src/adapters/http/redact-echo.ts'
import * as portal from '../src/adapters/portal/protocol.ts'
import { charactersIn } from '../src/adapters/portal/wire.ts'
import { headOfIncoming, headOfRequest } from '../src/adapters/receiver/received-head.ts'
import { parseRanges } from '../src/adapters/receiver/sender.ts'
import * as token from '../src/adapters/token/protocol.ts'
import { readResult } from '../src/adapters/validation/protocol.ts'
import { subjectMachine } from '../src/machines/subject/subject.ts'
import { compileMachine } from '../src/proof/decision-checker.ts'
import { verifyDisclosure } from '../src/proof/disclosure.ts'
import { fromBase64, fromHex, toBase64, toBytes } from '../src/proof/encoding.ts'
import { Faults } from '../src/proof/faults.ts'
import * as note from '../src/proof/note.ts'
import { parseObject, parseRecorded } from '../src/proof/recorded-header.ts'
import { parseTlogProof, verifyTlogProof } from '../src/proof/tlog-proof.ts'
import { readTimeStamp, verifyCheckpoints } from '../src/proof/verify-checkpoints.ts'
import { parseBrasilia, parseIso, readDay, readInstant, readMoment } from '../src/vocabulary/brasilia.ts'
import { holdsCredentials, parseHttpsAddress } from '../src/vocabulary/https-address.ts'
import { parseJson, parseRecords } from '../src/vocabulary/json.ts'
import { printable, printableText } from '../src/vocabulary/printable.ts'
import { holdsCpf, isCnpj, isCpf, maskCpfs, parseCnpj, parseCpf, readCnpj } from '../src/vocabulary/tax-numbers.ts'
import { cpuMs } from './support/cpu-ms.ts'

const maxMs = 50

const query = { cpf: '25774435016', id: 'a' } as Parameters<typeof consent.readConsent>[1]
const headers = ['event-type', 'destinatario-tipo', 'destinatario-id', 'content-length', 'x-forwarded-for']
/** Node refuses larger heads. */
const headMax = 16_384
const inHead = (text: string) => `a${text.slice(0, headMax).replace(/[\r\n]/g, ' ')}b,`

const { readConsents, readAwarenessList, readLogin, readLoginAddress } = consent
const { readSubscribed, readList, readFailures, isDeleted } = portal
const { parseVerifierKey, parseNote, parseCheckpoint } = note

/** What reads a text from outside, by the name of its function. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  ...{
    readConsents,
    readAwarenessList,
    readLogin,
    readLoginAddress,
    readSubscribed,
    readList,
    readFailures,
    isDeleted,
  },
  readChanged: text => consent.readChanged(text, 'a'),
  readConsent: text => consent.readConsent(text, query),
  readAwareness: text => consent.readAwareness(text, query),
  ...{ holdsCredentials, parseHttpsAddress, charactersIn, isXmlFault, maskNumbers, printable, printableText },
  ...{ parseObject, parseRecorded, parseTlogProof, parseJson, parseVerifierKey, parseNote, parseCheckpoint },
  ...{ fromBase64, fromHex, toBytes, parseBrasilia, parseIso, readDay, readInstant, readMoment },
  ...{ isCnpj, isCpf, holdsCpf, maskCpfs, parseCpf, parseCnpj, readCnpj },
  readToken: token.readToken,
  refusesCredentials: text => token.refusesCredentials({ status: 400, text }),
  readResult: text => readResult(text, { nome: 'a' } as Parameters<typeof readResult>[1]),
  readListing: text => readListing(text, { safeParse: () => ({ success: false }) } as never, () => 0),
  readProblem: text => readProblem(400, text),
  verifyTlogProof: text => verifyTlogProof(text, []),
  verifyDisclosure: text => verifyDisclosure(text, []),
  verifyNote: text => note.verifyNote({ text, signatures: [] }, []),
  formOf: text => formOf({ headers: new Headers(), text }),
  isOwnForm: text => isOwnForm({ headers: new Headers(), text }, 'portal'),
  meaningOf: text => meaningOf({ status: 400, headers: new Headers(), text }, 'portal'),
  declaredMeaning: text => declaredMeaning({ status: 400, text }, [{ status: 400, contains: 'b', means: 'unknown' }]),
  redactEcho: text => {
    for (const token of ['aa-a00%41', 'a1b-'.repeat(1_000)])
      redactEcho(new Request('https://a/', { headers: { authorization: `Bearer ${token}` } }))(text)
  },
  headOfIncoming: text => headOfIncoming({ rawHeaders: headers.flatMap(name => [name, inHead(text)]) } as never),
  headOfRequest: text =>
    headOfRequest({ method: 'POST', headers: new Map(headers.map(name => [name, inHead(text)])) } as never),
  parseRanges: text => parseRanges(['10.0.0.0/8'])(inHead(text)),
  readTimeStamp: text => readTimeStamp(Buffer.from(text.slice(0, 65_536), 'latin1')),
  parseRecords: text => [...parseRecords(text)],
}

/** Functions of these names that are not given a text from outside. */
const exceptions: Readonly<Record<string, string>> = {
  ...{ readBounded: 'It stops at its own bound.', readBoundedText: 'It stops at its own bound.' },
  ...{ leafHashHex: 'A digest.', putHex: 'As fromHex.', signNote: 'We sign what we wrote.' },
  readId: 'It is given a record that was read.',
  readUnreadable: 'It is given a record that was read.',
  readHistoryEntries: 'It is given a record that was read.',
  ...{ readLeafCertificate: 'The operator gives the file.', readPkcs12: 'The operator gives the file.' },
  ...{ parsePartAddress: 'The log gives the address.', parseEffectId: 'The log gives the id.' },
}

test('every function that reads a text from outside is in the table', () => {
  const source = resolve(import.meta.dirname, '../src')
  // By its name, or by what it is given first.
  const reader =
    /^export (?:async )?function\*? (?:((?:read|parse|holds|redact|refuses|headOf)[A-Z]\w*)|(\w+)\(\s*(?:text: |answer: |\{[^}]*\btext\b))/gm
  const texts = globSync('{adapters,proof,vocabulary}/**/*.ts', { cwd: source }).map(file => {
    return readFileSync(join(source, file), 'utf8')
  })
  const found = [...texts.join('\n').matchAll(reader)].map(([, byName, byText = '']) => byName ?? byText)
  expect(found.length).toBeGreaterThan(30)
  expect(found.sort()).toEqual([...Object.keys(readers), ...Object.keys(exceptions)].sort())
})

/** Pieces that a parser may read again from every place, and what comes after many of them. */
const pieces = [
  ...[' ', 'a', '0', '-', ',', 'a-', '[', '{"a":', '[],', '{},', '0,', '"', '\\', '\\"'],
  ...['%41', '&amp;', '<a:'],
]
const more = [
  ...['<code>', '<?xml ', '123.456.789-', '25774435016 ', '25774435016-', '\n', '\n\n', 'a+', '— a '],
  ...['/', '\u00e7'],
]
/** What is linear takes far less than 50 ms for this length, and what is quadratic takes seconds. */
const length = 65_536
const worst = [...pieces, ...more].flatMap(piece => {
  const long = piece.repeat(length / piece.length)
  return [`${long}!`, `!${long}`, `["${long.replace(/["\\\n]/g, '')}"]`, `[${long}0]`, `<fault><code>${long}`]
})

const patient = { timeout: 120_000 }

test.each(Object.entries(readers))('%s takes at most 50 ms for each of the worst texts', patient, async (_, read) => {
  for (const text of worst) {
    const run = async () => read(text)
    const ms = await cpuMs(() => run().catch(() => undefined), maxMs)
    expect(ms, JSON.stringify(text.slice(0, 30))).toBeLessThan(maxMs)
  }
})

const mebibyte = 1_048_576
const base64 = 'AbC9'.repeat(mebibyte / 2)
const thousandKeys = Array(1_000).fill(note.createVerifierKey('a', new Uint8Array(32)))
const verifyFifty = (origin: string) => {
  const text = `${origin}\n1\n${'A'.repeat(43)}=\n\n— ${origin} AAAAAAAA\n`
  return verifyCheckpoints(Array(50).fill({ note: text }), thousandKeys, [], new Faults())
}
const types = Array.from({ length: 20_000 }, (_, i) => `a${i}`)
const table = { name: 'a', version: 1, start: ['a'], moves: {}, makes: { a: [{ event: 'b' }] }, effects: { b: types } }
const machine = compileMachine(table)
const decided = { causedBy: 'a', type: 'b', data: {}, effects: types.map(type => ({ type })) }

test.each<[what: string, verify: () => unknown]>([
  ['a part', () => fromBase64(base64)],
  ['a part that is disclosed', () => toBase64(new Uint8Array(2 * mebibyte))],
  ['the line of a key', () => parseVerifierKey(`a+00000000+${base64}`)],
  ['fifty checkpoints with a thousand keys', () => verifyFifty('a')],
  ['the long name of a log', () => verifyFifty('a'.repeat(2_000))],
  ['twenty thousand effects of an event', () => machine?.findViolation(machine.start, decided as never)],
])('%s of a bundle takes at most 50 ms', async (_, verify) => {
  expect(await cpuMs(verify, maxMs)).toBeLessThan(maxMs)
})

/** As many records as are read, each as slow as its size allows. */
const listOf = (record: string, bytes: number, count: number) => {
  const fill = record.repeat(Math.floor(bytes / count / record.length) - 2)
  return `[${Array.from({ length: count }, () => `{"id":"a","evento":"a","a":[${fill}0]}`).join()}]`
}

test.each([
  ['{"a":0},', 10_000],
  ['[],', 1_000],
  ['0,', 100],
])('a list of records full of %s is read in turns of at most 50 ms at its bound', async (record, count) => {
  const [consents, failures] = [listOf(record, 4 * mebibyte, count), listOf(record, 8 * mebibyte, count * 2)]
  expect(await cpuMs(() => consent.readConsents(consents), maxMs)).toBeLessThan(maxMs)
  expect(await cpuMs(() => portal.readFailures(failures), maxMs)).toBeLessThan(maxMs)
})

test('ten thousand awareness records are decided one after the other without looking at all for each', async () => {
  const data = (n: number) => ({ record: `r${n}`, createdAt: null, controller: null })
  let recorded = 0
  const decideAll = () => {
    recorded = 0
    let state = subjectMachine.evolve(subjectMachine.initial, { type: 'subject.enrolled', data: { subject: 's' } })
    for (let n = 0; n < 20_000; n++) {
      const decided = subjectMachine.decide(state, { type: 'subject.observeAwareness', data: data(n % 10_000) })
      const events = 'events' in decided ? decided.events : []
      recorded += events.length
      state = events.reduce((before, event) => subjectMachine.evolve(before, event), state)
    }
  }
  expect(await cpuMs(decideAll, 1_500)).toBeLessThan(1_500)
  expect(recorded).toBe(10_000)
})

test.each([...pieces, '{"a":0},'])('a value full of %s is parsed within 50 ms at its bound', async piece => {
  const text = `[${piece.repeat(mebibyte / piece.length - 2)}0]`
  expect(await cpuMs(() => parseJson(text), maxMs)).toBeLessThan(maxMs)
  expect(parseJson(`[${'0,'.repeat(mebibyte / 2)}0]`)).toBeUndefined()
  expect(parseJson(`["${'a'.repeat(mebibyte)}"]`)).toHaveLength(1)
})
