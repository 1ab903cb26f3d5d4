import { requireConsent } from '../../console/stream-row.ts'
import {
  type Averba,
  AverbaError,
  type PageOptions,
  type SubjectPageOptions,
  type SubjectSelector,
} from '../../index.ts'
import { readInstant, readMoment } from '../../vocabulary/brasilia.ts'
import { isStreamOf } from '../../vocabulary/names.ts'
import { printableText } from '../../vocabulary/printable.ts'
import { defineCommand, exitCodes } from '../command.ts'
import { languages, readLanguage } from '../language.ts'
import { lookInto, sourceOptions, withLog } from '../load-config.ts'
import { writeNewFile } from '../new-file.ts'
import { cpfNote, readReveal, readSubject, rejectOptions, revealOptions, subjectOption } from '../options.ts'
import { printError } from '../output.ts'
import { createProgress } from '../progress.ts'

export const reportCommand = defineCommand({
  usage: 'report',
  description: 'Report what is held about a data subject, whether a consent was valid, or what was processed.',
  options: {
    ...sourceOptions,
    ...subjectOption,
    '--consent <stream or id>':
      'report whether this consent was valid, with the proof and --at: its stream, or with the subject its id at the service',
    '--at <instant>': 'the instant in question',
    '--known-at <instant or position>': 'use only what was known then; by default the same as --at',
    '--processing': 'report the operations with personal data of a period, of all persons: --from and --until',
    '--from <day or instant>': 'the beginning of the period, included',
    '--until <day or instant>': 'the end of the period, not included',
    ...revealOptions,
    '--html': 'write one HTML page that needs no other file',
    '--json': 'write one JSON object: the default',
    '--lang <language>': {
      text: 'the language of the report, by default pt-BR, and of messages, by default that of LANG',
      choices: languages,
      read: readLanguage,
    },
    '--out <file>': 'write to a new file that only you can read; by default standard output',
  },
  example: 'averba report --subject 01m7wd7tg0 --html --out report.html',
  notes: `${cpfNote}\nA day begins and ends in Brasilia, and an instant without a zone is a time there.\nExit codes: 0 the report was written, 1 it was not.`,
  async run(
    terminal,
    { subject, html, lang: language, out, processing, config, store, keys, rootKeyFrom, ...options },
  ) {
    const ofPerson = { '--data': options.data || undefined, '--purpose': options.purpose }
    const ofConsent = { '--at': options.at, '--known-at': options.knownAt }
    const isStream = isStreamOf('consent', options.consent ?? '')
    const ofStream = isStream && { '--subject': subject }
    const ofPeriod = { '--from': options.from, '--until': options.until }
    const unused = processing
      ? { '--subject': subject, '--consent': options.consent, ...ofPerson, ...ofConsent }
      : { ...ofPeriod, ...ofStream, ...(options.consent === undefined ? ofConsent : ofPerson) }
    const hint = 'averba report --help says what each report takes'
    rejectOptions(unused, option => `Cannot use ${option} in this report`, hint)
    const reveal = readReveal(options)
    const progress = createProgress(terminal)
    const onProgress = (position: number, end: number) => progress('report', position, end)
    const page: PageOptions = { format: html ? 'html' : 'json', ...(language && { language }), onProgress }
    const selector = processing || isStream ? undefined : await readSubject(terminal, subject)
    const write = async (averba: Averba) => {
      if (!processing) return reportOn(averba, selector, options, { ...page, ...(reveal && { reveal }) })
      const period = { from: required('--from', options.from), until: required('--until', options.until) }
      return averba.audit.processingReport(period, page)
    }
    const make = () => (reveal ? withLog : lookInto)(terminal, { config, store, keys, rootKeyFrom }, write)
    if (out === undefined) terminal.stdout.write(html ? await make() : printableText(await make()))
    else {
      await writeNewFile(out, 0o600, make)
      printError(terminal, terminal.say`Wrote ${out}.`)
    }
    return exitCodes.done
  },
})

async function reportOn(
  averba: Averba,
  selector: SubjectSelector | undefined,
  { consent: id, at, knownAt }: Readonly<Record<'consent' | 'at' | 'knownAt', string | undefined>>,
  page: SubjectPageOptions,
): Promise<string> {
  if (selector && id === undefined) return averba.subjects.report(selector, page)
  const consent = selector ? { ...selector, id: id ?? '' } : await requireConsent(averba, id ?? '')
  const question = { consent, at: required('--at', at) }
  return averba.audit.prove({ ...question, ...(knownAt !== undefined && { knownAt: readMoment(knownAt) }) }, page)
}

function required(option: string, text: string | undefined): string {
  if (text !== undefined) return readInstant(text)
  const hint = `Give a day or an instant, such as ${option} 2026-01-31`
  throw new AverbaError('INVALID_INPUT', `Cannot write the report: ${option} is missing`, { hint })
}
