import { Command } from 'commander'
import { type Averba, AverbaError, type PageOptions, type SubjectRef, type SubjectSelector } from '../../index.ts'
import { printableText } from '../../vocabulary/printable.ts'
import { defaultConfig, withExisting } from '../load-config.ts'
import { NewFile } from '../new-file.ts'

interface Options {
  readonly config: string
  readonly subject?: string
  readonly consent?: string
  readonly at?: string
  readonly knownAt?: string
  readonly processing?: boolean
  readonly from?: string
  readonly until?: string
  readonly html?: boolean
  readonly language?: string
  readonly out?: string
}

/** The command `averba report`. */
export function reportCommand(): Command {
  return new Command('report')
    .description('Report what is held about a data subject, whether a consent was valid, or what was processed.')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option('--subject <ref>', 'the data subject; without it the CPF is read from standard input')
    .option('--consent <id>', 'report whether this consent was valid, with the proof: its id at the service, with --at')
    .option('--at <instant>', 'the instant in question, in UTC')
    .option('--known-at <instant or position>', 'use only what was known then; by default the same as --at')
    .option('--processing', 'report the operations with personal data of a period: --from and --until')
    .option('--from <day or instant>', 'the beginning of the period, included, in UTC')
    .option('--until <day or instant>', 'the end of the period, not included, in UTC')
    .option('--html', 'write one HTML page that needs no other file')
    .option('--json', 'write one JSON object: the default')
    .option('--language <language>', 'pt-BR or en', 'pt-BR')
    .option('--out <file>', 'write to a new file that only you can read; by default standard output')
    .addHelpText(
      'after',
      '\nA CPF is read from standard input, since command lines appear in process lists and shell histories.\n' +
        'Exit codes: 0 the report was written, 1 it was not.',
    )
    .action(report)
}

async function report(options: Options): Promise<void> {
  const { config, html = false, language, out, processing = false } = options
  const page = { format: html ? 'html' : 'json', language } as PageOptions // Checked by the API.
  const selector = processing ? undefined : await readSubjectSelector(options)
  const text = await withExisting(config, averba => {
    return selector ? reportOn(averba, selector, options, page) : reportProcessing(averba, options, page)
  })
  if (out === undefined) return void process.stdout.write(html ? text : printableText(text))
  new NewFile(out, 0o600).write(text)
  console.error(`Wrote ${out}.`)
}

async function reportOn(
  averba: Averba,
  selector: SubjectSelector,
  options: Options,
  page: PageOptions,
): Promise<string> {
  const { consent: id, at, knownAt } = options
  if (id === undefined) return averba.subjects.report(selector, page)
  if (at === undefined) throw missingOption('--at')
  const isPosition = knownAt !== undefined && /^\d+$/.test(knownAt)
  const known = isPosition ? Number(knownAt) : knownAt && normalizeInstant(knownAt)
  const question = {
    consent: { ...selector, id },
    at: normalizeInstant(at),
    ...(known !== undefined && { knownAt: known }),
  }
  return averba.audit.prove(question, page)
}

function reportProcessing(averba: Averba, { from, until }: Options, page: PageOptions): Promise<string> {
  if (from === undefined) throw missingOption('--from')
  if (until === undefined) throw missingOption('--until')
  return averba.audit.processingReport({ from: normalizeInstant(from), until: normalizeInstant(until) }, page)
}

function missingOption(option: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot write the report: ${option} is missing`, {
    hint: `Give a day or an instant in UTC, such as ${option} 2026-01-31`,
  })
}

/** Completes an instant: a day becomes its first moment, and whole seconds (as from `date -u`) get milliseconds. */
function normalizeInstant(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T00:00:00.000Z`
  return text.replace(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})Z$/, '$1.000Z')
}

async function readSubjectSelector({ subject }: Options): Promise<SubjectSelector> {
  if (subject !== undefined) return { subject: subject as SubjectRef } // The API does not find an invalid one.
  if (process.stdin.isTTY) process.stderr.write('CPF: ')
  return { cpf: await readLine() }
}

/** Reads the first line of standard input, up to about 100 characters. */
async function readLine(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n') || text.length > 100) break
  }
  return (text.split('\n', 1)[0] ?? '').trim()
}
