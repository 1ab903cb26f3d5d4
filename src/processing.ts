import type { Area } from './area.ts'
import { AverbaError } from './errors.ts'
import { checkInstant } from './given.ts'
import type { Recorded as AnyRecorded, Instant } from './message.ts'
import { describeEvent, describeKind, wordsOf } from './pages/describe.ts'
import type { Language } from './pages/language.ts'
import type { ProcessingKind, ProcessingOperation, ProcessingReport } from './pages/processing-report.ts'
import { sourceOf } from './pages/source-of.ts'
import type { Words } from './pages/words.ts'
import { positionBefore } from './store/position-before.ts'
import { describeLog } from './subject-report.ts'

/** A period: `from` included, `until` not. */
export interface Period {
  readonly from: Instant
  readonly until: Instant
}

/** Reads the operations with personal data of a period, in order, page by page. Opens nothing. */
export async function* readProcessing(
  { store, engine }: Area,
  { from, until }: Period,
  language: Language,
): AsyncGenerator<ProcessingOperation> {
  checkPeriod({ from, until })
  const words = wordsOf(language)
  let after = await engine.admit(() => store.reader.read(() => positionBefore(from)))
  for (;;) {
    const page = await engine.admit(() => store.read({ after }))
    for (const event of page) {
      if (event.at >= until) return
      const operation = toOperation(event, words)
      if (operation) yield operation
    }
    const last = page.at(-1)
    if (!last) return
    after = last.position
  }
}

/** Gathers the operations of a period as one report. */
export async function gatherProcessingReport(
  area: Area,
  { from, until }: Period,
  language: Language,
): Promise<ProcessingReport> {
  checkPeriod({ from, until })
  const words = wordsOf(language)
  const { security } = words
  const retention = describeRetention(area, words)
  const [end] = await area.store.read({ backward: true, limit: 1 })
  const operations: ProcessingOperation[] = []
  for await (const operation of readProcessing(area, { from, until }, language)) {
    if (operation.position <= (end?.position ?? 0)) operations.push(operation)
  }
  const log = await describeLog(area.store, end?.position ?? 0)
  return {
    format: 'averba processing report 1',
    ...{ language, log, from, until, retention, security, operations },
  }
}

/** What is true of all data, and the rules of this organisation. */
function describeRetention({ options }: Area, words: Words): string {
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

const services: ReadonlySet<string> = new Set(['consentService', 'validationService', 'portal'])

/** An event that takes personal data in, opens it for a service, or stands for a use of it; none otherwise. */
function toOperation(event: AnyRecorded, words: Words): ProcessingOperation | undefined {
  const { position, at, type, stream, parts = [], effects = [], basis, actor } = event
  const shared = effects.filter(({ type: call, opens = {} }) => {
    return services.has(serviceOf(call)) && Object.keys(opens).length > 0
  })
  const kinds: ProcessingKind[] = [
    ...(parts.length > 0 ? (['collected'] as const) : []),
    ...(shared.length > 0 ? (['shared'] as const) : []),
    ...(type === 'consent.used' ? (['used'] as const) : []),
    ...(type === 'consent.useRefused' || type === 'subject.useRefused' ? (['refused'] as const) : []),
  ]
  if (kinds.length === 0) return undefined
  const opened = shared.flatMap(({ opens = {} }) => Object.entries(opens))
  const owners = unique([
    ...parts.map(({ owner }) => owner),
    ...opened.flatMap(([, address]) => (address.startsWith('subject-') ? address.split('/', 1) : [])),
    ...(parts.length === 0 && shared.length === 0 ? [stream] : []),
  ])
  return {
    ...{ position, at, type, kinds, owners },
    words: describeEvent(event, words),
    basis: basis ?? null,
    actor: actor ?? null,
    subjects: unique(owners.map(owner => words.owners[owner.slice(0, owner.indexOf('-'))] ?? owner)),
    data: unique([
      ...parts.map(({ name }) => describeKind(`${type}/${name}`, words)),
      ...opened.map(([name]) => describeKind(name, words)),
    ]),
    sources: unique(parts.map(({ name }) => words.sources[sourceOf(`${type}/${name}`)])),
    recipients: unique(shared.map(({ type: call }) => words.services[serviceOf(call)] ?? call)),
  }
}

function serviceOf(call: string): string {
  return call.slice(0, call.indexOf('.'))
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}
