import { describeEvent, describeKind, wordsOf } from '../../pages/describe.ts'
import type { Language } from '../../pages/language.ts'
import type { ProcessingKind, ProcessingOperation, ProcessingReport } from '../../pages/processing-report.ts'
import { sourceOf } from '../../pages/source-of.ts'
import type { LanguageWords } from '../../pages/words.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { endOfLog, positionBefore } from '../../store/log/position-before.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Instant, RecordedEvent } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import { checkInstant } from '../arguments.ts'
import { type SentCall, SentCalls } from './sent-calls.ts'
import { describeLog } from './subject-report.ts'

/** How many operations one text holds at most: some 100 MB. */
const operationsMax = 250_000

/** A period: `from` included, `until` not. */
export interface Period {
  readonly from: Instant
  readonly until: Instant
}

/** Reads the operations with personal data of a period, in order, page by page. Opens nothing. */
export async function* readProcessing(
  { store, engine }: ApiContext,
  { from, until }: Period,
  language: Language,
): AsyncGenerator<ProcessingOperation> {
  checkPeriod({ from, until })
  const words = wordsOf(language)
  const calls = new SentCalls(store)
  let after = await engine.admit(() => store.reader.read(() => positionBefore(from)))
  for (;;) {
    const page = await engine.admit(async () => {
      const events = await store.read({ after })
      const operations: ProcessingOperation[] = []
      for (const event of events) {
        if (event.at >= until) break
        const operation = toOperation(event, await calls.hear(event), words)
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
 * Gathers the operations of a period as one report.
 *
 * @throws {AverbaError} `INVALID_INPUT` when there are more of them than one text can hold
 */
export async function gatherProcessingReport(
  context: ApiContext,
  { from, until }: Period,
  language: Language,
): Promise<ProcessingReport> {
  checkPeriod({ from, until })
  const words = wordsOf(language)
  const { security } = words
  const retention = describeRetention(context, words)
  const end = await context.store.reader.read(endOfLog)
  const operations: ProcessingOperation[] = []
  for await (const operation of upTo(operationsMax, readProcessing(context, { from, until }, language))) {
    if (operation.position > end) break
    operations.push(operation)
  }
  const log = await describeLog(context.store, end)
  return {
    format: 'averba processing report 1',
    ...{ language, log, from, until, retention, security, operations },
  }
}

/** Gives the operations on, and refuses to when there are more than so many. */
export async function* upTo(
  most: number,
  operations: AsyncIterable<ProcessingOperation>,
): AsyncGenerator<ProcessingOperation> {
  let count = 0
  for await (const operation of operations) {
    count += 1
    if (count > most) {
      const cannot = `Cannot write the report: it holds ${most} operations, and the period has more, from ${operation.at} on`
      const hint = 'End the period there, and ask for the rest by itself; audit.processing gives any number'
      throw new AverbaError('INVALID_INPUT', cannot, { hint })
    }
    yield operation
  }
}

/** What is true of all data, and the rules of this organisation. */
function describeRetention({ options }: ApiContext, words: LanguageWords): string {
  const rules = Object.entries(options.retention ?? {})
  const told = rules.map(([kind, rule]) =>
    words.retentionRule(kind, rule === 'until-settled' ? null : rule.days),
  )
  return told.length === 0
    ? words.retention
    : `${words.retention} ${words.retentionRules}: ${told.join('; ')}.`
}

function checkPeriod({ from, until }: Period): void {
  checkInstant(from, 'from')
  checkInstant(until, 'until')
  if (from < until) return
  throw new AverbaError('INVALID_INPUT', 'Cannot read the period: it ends before it begins')
}

/**
 * An operation for an event that takes personal data in, ends a call by which it left, or stands for a use of it; else
 * none.
 */
function toOperation(
  event: RecordedEvent,
  left: readonly SentCall[],
  words: LanguageWords,
): ProcessingOperation | undefined {
  const { position, at, type, stream, parts = [] } = event
  const kinds: ProcessingKind[] = [
    ...(parts.length > 0 ? (['collected'] as const) : []),
    ...(left.length > 0 ? (['shared'] as const) : []),
    ...(type === 'consent.used' ? (['used'] as const) : []),
    ...(type === 'consent.useRefused' || type === 'subject.useRefused' ? (['refused'] as const) : []),
  ]
  if (kinds.length === 0) return undefined
  const owners = unique([
    ...parts.map(({ owner }) => owner),
    ...left.flatMap(call => call.owners),
    ...(parts.length === 0 && left.length === 0 ? [stream] : []),
  ])
  const [owing = event] = left.map(call => call.owing)
  return {
    ...{ position, at, type, kinds, owners },
    words: describeEvent(event, words),
    basis: event.basis ?? owing.basis ?? null,
    actor: event.actor ?? owing.actor ?? null,
    subjects: unique(owners.map(owner => words.owners[owner.slice(0, owner.indexOf('-'))] ?? owner)),
    data: unique([
      ...parts.map(({ name }) => describeKind(`${type}/${name}`, words)),
      ...left.flatMap(({ opened }) => opened.map(name => describeKind(name, words))),
    ]),
    sources: unique(parts.map(({ name }) => words.sources[sourceOf(`${type}/${name}`)])),
    recipients: unique(left.map(({ service }) => words.services[service] ?? service)),
  }
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
