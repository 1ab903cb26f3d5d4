import { Command } from 'commander'
import {
  type Averba,
  AverbaError,
  type PageOptions,
  type SubjectRef,
  type SubjectSelector,
} from '../../index.ts'
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
    .description('Tell what is held of a data subject, whether a consent stood, or what was processed.')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option('--subject <ref>', 'the data subject; the CPF is read from standard input otherwise')
    .option(
      '--consent <id>',
      'whether this consent stood: its id at the service, with --at; carries its proof',
    )
    .option('--at <instant>', 'the instant that is asked about, in UTC')
    .option('--known-at <instant or position>', 'by what was known then; the same as --at otherwise')
    .option('--processing', 'the operations with personal data of a period, with --from and --until')
    .option('--from <day or instant>', 'the beginning of the period, included, in UTC')
    .option('--until <day or instant>', 'its end, not included')
    .option('--html', 'one HTML page that needs nothing else')
    .option('--json', 'one JSON object: the default')
    .option('--language <language>', 'pt-BR or en', 'pt-BR')
    .option('--out <file>', 'write it to a new file that only you can read, and overwrite nothing')
    .addHelpText(
      'after',
      '\nA CPF belongs on no command line, where others see it and the shell keeps it.\n' +
        'Exit codes: 0 it was written, 1 it was not.',
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

/** A day means its first moment, and whole seconds will do, as `date -u` prints them. */
function normalizeInstant(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return `${text}T00:00:00.000Z`
  return text.replace(/^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})Z$/, '$1.000Z')
}

async function readSubjectSelector({ subject }: Options): Promise<SubjectSelector> {
  if (subject !== undefined) return { subject: subject as SubjectRef } // One that is none is not found.
  if (process.stdin.isTTY) process.stderr.write('CPF: ')
  return { cpf: await readLine() }
}

/** The first line of standard input, up to the length that it can have. */
async function readLine(): Promise<string> {
  let text = ''
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n') || text.length > 100) break
  }
  return (text.split('\n', 1)[0] ?? '').trim()
}
