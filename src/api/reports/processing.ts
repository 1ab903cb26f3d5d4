import { describeEvent, describeKind, findDataSource } from '../../pages/describe.ts'
import type { Language, ProcessingKind } from '../../pages/labels.ts'
import type { ProcessingOperation, ProcessingReport } from '../../pages/processing-page.ts'
import { getLanguageWords, type LanguageWords } from '../../pages/words.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { endOfLog, positionBefore } from '../../store/log/read.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import { checkInstant } from '../arguments.ts'
import { type SentCall, SentCalls } from './sent-calls.ts'
import { readReportedLog } from './subject-report.ts'

/** The maximum number of operations in one text, some 100 MB. */
const operationsMax = 250_000

/** A period that includes `from` and excludes `until`. */
export interface Period {
  readonly from: Instant
  readonly until: Instant
}

/** Reads the operations with personal data of a period, in order and page by page. Opens no sealed data. */
export async function* readProcessing(
  { store, engine }: ApiContext,
  { from, until }: Period,
  language: Language,
): AsyncGenerator<ProcessingOperation> {
  checkPeriod({ from, until })
  const words = getLanguageWords(language)
  const calls = new SentCalls(store)
  let after = await engine.admit(() => store.reader.read(() => positionBefore(from)))
  for (;;) {
    const page = await engine.admit(async () => {
      const events = await store.read({ after })
      const operations: ProcessingOperation[] = []
      for (const event of events) {
        if (event.at >= until) break
        const operation = toOperation(event, await calls.findSent(event), words)
        if (operation) operations.push(operation)
      }
      return { operations, last: events.at(-1) }
    })
    yield* page.operations
    if (!page.last || page.last.at >= until) return
    after = page.last.position
    await yieldToEventLoop()
  }
}

/**
 * Collects the operations of a period in one report. Throws `INVALID_INPUT` when there are more of them than one text
 * can hold.
 */
export async function gatherProcessingReport(
  context: ApiContext,
  { from, until }: Period,
  language: Language,
): Promise<ProcessingReport> {
  checkPeriod({ from, until })
  const words = getLanguageWords(language)
  const { security } = words
  const retention = describeRetention(context, words)
  const end = await context.store.reader.read(endOfLog)
  const operations: ProcessingOperation[] = []
  const all = readProcessing(context, { from, until }, language)
  for await (const operation of limitOperations(operationsMax, all)) {
    if (operation.position > end) break
    operations.push(operation)
  }
  const log = await readReportedLog(context.store, end)
  return {
    format: 'averba processing report 1',
    ...{ language, log, from, until, retention, security, operations },
  }
}

/** Passes operations on, and throws when there are more than the limit. */
export async function* limitOperations(
  max: number,
  operations: AsyncIterable<ProcessingOperation>,
): AsyncGenerator<ProcessingOperation> {
  let count = 0
  for await (const operation of operations) {
    count += 1
    if (count > max) {
      const message = `Cannot write the report: the period has more than ${max} operations`
      const hint = `End the period at ${operation.at}, or use audit.processing, which has no limit`
      throw new AverbaError('INVALID_INPUT', message, { hint })
    }
    yield operation
  }
}

function describeRetention({ options }: ApiContext, words: LanguageWords): string {
  const rules = Object.entries(options.retention ?? {}).map(([kind, rule]) =>
    words.retentionRule(kind, rule === 'until-settled' ? null : rule.days),
  )
  return rules.length === 0 ? words.retention : `${words.retention} ${words.retentionRules}: ${rules.join('; ')}.`
}

function checkPeriod({ from, until }: Period): void {
  checkInstant(from, 'from')
  checkInstant(until, 'until')
  if (from < until) return
  throw new AverbaError('INVALID_INPUT', 'Cannot read the period: it ends before it begins')
}

/** The operation of an event that collects personal data, ends a call that sent some, or uses it. */
function toOperation(
  event: RecordedEvent,
  sent: readonly SentCall[],
  words: LanguageWords,
): ProcessingOperation | undefined {
  const { position, at, type, stream, parts = [] } = event
  const kinds: ProcessingKind[] = [
    ...(parts.length > 0 ? (['collected'] as const) : []),
    ...(sent.length > 0 ? (['shared'] as const) : []),
    ...(type === 'consent.used' ? (['used'] as const) : []),
    ...(type === 'consent.useRefused' || type === 'subject.useRefused' ? (['refused'] as const) : []),
  ]
  if (kinds.length === 0) return undefined
  const owners = unique([
    ...parts.map(({ owner }) => owner),
    ...sent.flatMap(call => call.owners),
    ...(parts.length === 0 && sent.length === 0 ? [stream] : []),
  ])
  const [request = event] = sent.map(call => call.requestedBy)
  return {
    ...{ position, at, type, kinds, owners },
    words: describeEvent(event, words),
    basis: event.basis ?? request.basis ?? null,
    actor: event.actor ?? request.actor ?? null,
    subjects: unique(owners.map(owner => words.owners[owner.slice(0, owner.indexOf('-'))] ?? owner)),
    data: unique([
      ...parts.map(({ name }) => describeKind(`${type}/${name}`, words)),
      ...sent.flatMap(({ partNames }) => partNames.map(name => describeKind(name, words))),
    ]),
    sources: unique(parts.map(({ name }) => words.sources[findDataSource(`${type}/${name}`)])),
    recipients: unique(sent.map(({ service }) => words.services[service] ?? service)),
  }
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
