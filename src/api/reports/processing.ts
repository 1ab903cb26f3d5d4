import { mayHaveBeenSent, readTrace } from '../../engine/performing/attempt-trace.ts'
import { describeEvent, describeKind, findDataSource } from '../../pages/describe.ts'
import type { Language, PageOptions, ProcessingKind } from '../../pages/labels.ts'
import type { ProcessingOperation, ProcessingReport } from '../../pages/processing-page.ts'
import { getLanguageWords, type LanguageWords } from '../../pages/words.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { GenerationalCache } from '../../runtime/generational-cache.ts'
import { endOfLog, positionBefore } from '../../store/log/read.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Effect, Instant, RecordedEvent } from '../../vocabulary/message.ts'
import { isStreamOf, parseEffectId, serviceNames, serviceOf } from '../../vocabulary/names.ts'
import { type ApiContext, readEvents } from '../api-context.ts'
import { checkInstant } from '../arguments.ts'
import type { LogStore, Recorded } from '../events.ts'
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
  const calls = createSentCalls(store)
  let after = await engine.admit(() => store.database.read(() => positionBefore(store.headers, from)))
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

/** Collects a period's operations in one report. Throws `INVALID_INPUT` when there are more than one text can hold. */
export async function gatherProcessingReport(
  context: ApiContext,
  { from, until }: Period,
  language: Language,
  onProgress: PageOptions['onProgress'],
): Promise<ProcessingReport> {
  checkPeriod({ from, until })
  const words = getLanguageWords(language)
  const { security } = words
  const retention = describeRetention(context, words)
  const end = await context.store.database.read(endOfLog)
  const operations: ProcessingOperation[] = []
  const all = readProcessing(context, { from, until }, language)
  for await (const operation of limitOperations(operationsMax, all)) {
    if (operation.position > end) break
    operations.push(operation)
    onProgress?.(operation.position, end)
  }
  onProgress?.(end, end)
  const log = await readReportedLog(context.store, end)
  return { format: 'averba processing report 1', ...{ language, log, from, until, retention, security, operations } }
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
  throw new AverbaError('INVALID_INPUT', 'Cannot read the period: it ends when it begins, or before', {
    hint: 'Its end is not included: a day ends when the next one begins',
  })
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
    recipients: unique(sent.map(({ service }) => words.services[service] ?? words.thirdParty)),
  }
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)]
}

/** A call that sent, or may have sent, personal data; or a disclosure. */
interface SentCall {
  readonly service: string
  readonly partNames: readonly string[]
  readonly owners: readonly string[]
  readonly requestedBy: Recorded
}

/** The minimum number of events kept in memory; older ones are read again. */
const cachedEventsMin = 5_000

/** The services that receive personal data: all but the token service. */
const recipients: ReadonlySet<string> = new Set(serviceNames.filter(name => name !== 'tokenService'))

/** The calls that sent personal data: those answered and those in doubt, each once. The events are in order. */
function createSentCalls(store: LogStore) {
  /** The requesting events of calls that have not ended, since the reading began. */
  const requests = new GenerationalCache<string, Recorded>(cachedEventsMin)

  /** The calls that this event shows to have been sent, or what it gave to a third party. */
  async function findSent(event: Recorded): Promise<SentCall[]> {
    if (event.type === 'reveal.recorded') return event.data.isDisclosed ? [toDisclosure(event)] : []
    for (const [n, effect] of (event.effects ?? []).entries())
      if (sharesPersonalData(effect)) requests.set(`${event.id}/${n}`, event)
    const sent: SentCall[] = []
    for (const id of await sentIds(event)) {
      const request = requests.get(id) ?? (await readRequest(id))
      requests.delete(id)
      const [, , n] = parseEffectId(id)
      const effect = request?.effects?.[n]
      if (request && effect && sharesPersonalData(effect)) sent.push(toSentCall(effect, request))
    }
    return sent
  }

  /** The ids of these calls. A call whose lost answer still comes is counted once. */
  async function sentIds(event: Recorded): Promise<string[]> {
    const { settles, cancels = [], position } = event
    const sent: string[] = []
    for (const id of cancels) if (!(await wasInDoubt(id, position)) && (await hasLeft(id))) sent.push(id)
    if (!settles) return sent
    if (settles.as !== 'unknown' && (await wasInDoubt(settles.effect, position))) return sent
    if (isWithheld(event) && !event.data.sentBefore) return sent
    return [...sent, settles.effect]
  }

  /** Whether the answer was lost before: the call was then counted when that was recorded. */
  async function wasInDoubt(id: string, position: number): Promise<boolean> {
    if (requests.get(id)) return false
    const [stream] = parseEffectId(id)
    for await (const { settles, position: at } of readEvents(store, { stream })) {
      if (at >= position) return false
      if (settles?.effect === id && settles.as === 'unknown') return true
    }
    return false
  }

  /** Whether a cancelled call was sent: the process that made the attempt did not know of the cancellation. */
  async function hasLeft(id: string): Promise<boolean> {
    const request = requests.get(id) ?? (await readRequest(id))
    if (!request) return false
    return mayHaveBeenSent(await readTrace(store, { id, position: request.position }))
  }

  async function readRequest(id: string): Promise<Recorded | undefined> {
    const [stream, fromVersion] = parseEffectId(id)
    const [request] = await store.read({ stream, fromVersion, limit: 1 })
    return request
  }

  return { findSent }
}

/** Whether the event ends a call that was not sent, or not sent again. */
function isWithheld(event: Recorded): event is Recorded<'validation.withheld' | 'consent.changeWithheld'> {
  return event.type === 'validation.withheld' || event.type === 'consent.changeWithheld'
}

function sharesPersonalData({ type, opens = {} }: Effect): boolean {
  return recipients.has(serviceOf(type)) && Object.keys(opens).length > 0
}

function toDisclosure(event: Recorded<'reveal.recorded'>): SentCall {
  const { parts, owners } = event.data
  const partNames = parts.map(address => address.slice(address.lastIndexOf('/') + 1))
  return { service: 'thirdParty', partNames, owners, requestedBy: event }
}

function toSentCall({ type, opens = {} }: Effect, request: Recorded): SentCall {
  const owners = Object.values(opens).flatMap(address => {
    if (!address.startsWith('./')) return isStreamOf('subject', address) ? address.split('/', 1) : []
    return (request.parts ?? []).flatMap(({ name, owner }) => (address === `./${name}` ? [owner] : []))
  })
  return { service: serviceOf(type), partNames: Object.keys(opens), owners, requestedBy: request }
}
