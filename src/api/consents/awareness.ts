import type { CienciaDetalhada } from '../../adapters/consent/wire.ts'
import type { AddressedMessage, DecisionRequest } from '../../engine/recording/decisions.ts'
import type { AwarenessRow } from '../../views/awareness.ts'
import { parseIso } from '../../vocabulary/brasilia.ts'
import type { Instant, MessageWithParts } from '../../vocabulary/message.ts'
import { idOfStream, streamOf } from '../../vocabulary/names.ts'
import { valueOf } from '../../vocabulary/outcome.ts'
import { parseCnpj } from '../../vocabulary/tax-numbers.ts'
import { type ApiContext, readEvents, recordKey } from '../api-context.ts'
import { checkAge } from '../arguments.ts'
import type { OutcomeFact, PendingUntil } from '../effect-types.ts'
import { requireAs } from '../events.ts'
import type { RecordSelector, SubjectRef, SubjectSelector } from '../subject-directory.ts'
import { createSubjectReadings, type FreshnessOptions } from './readings.ts'

/** A record of awareness of data processing (document 1, section 2). */
export interface Awareness {
  /** The service's id. */
  readonly id: string
  readonly dataHora: Instant | null
  readonly cnpjUsuario: string | null
  readonly readAt: Instant | null
}

/** An awareness record with every member that the service returned. */
export interface AwarenessDetail extends Awareness, Partial<Omit<CienciaDetalhada, 'id' | 'dataHora'>> {}

/** Awareness records of data subjects (document 1, operations 4 and 5). */
export interface AwarenessArea {
  /**
   * Lists the awareness records of a data subject, with `cnpj` here or in `consentService` those of one controller;
   * those that the service no longer lists only with `vanished`.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_CNPJ`, `INVALID_INPUT` for a wrong `ageMaxMs`
   */
  list(filter: SubjectSelector & FreshnessOptions & { cnpj?: string; vanished?: boolean }): Promise<Awareness[]>
  /** Gets one record in full, a vanished one as it was last read; `undefined` for an unknown id. */
  get(selector: RecordSelector & FreshnessOptions): Promise<AwarenessDetail | undefined>
}

export function createAwareness(context: ApiContext): AwarenessArea {
  const { commands, rows, store, subjects, views } = context

  const readings = createSubjectReadings(
    context,
    { type: 'subject.readAwareness', lists: row => row.awareness_lists },
    ({ subject }, createRequest) =>
      commands.send({ method: 'awareness.list', subject }, createRequest, {}, async () => undefined),
  )

  async function findRow(subject: SubjectRef, id: string): Promise<AwarenessRow | undefined> {
    const awareness = await store.lookUp('awareness', recordKey(subject, id))
    if (awareness === undefined) return undefined
    return rows.find('awareness', awareness, streamOf('subject', subject))
  }

  async function toAwareness(row: AwarenessRow, readAt: Instant | null): Promise<Awareness> {
    const record = await requireAs(store, 'record', row.record)
    const sealedCnpj = typeof record.cnpjUsuario === 'string' ? record.cnpjUsuario : null
    return { id: record.id, dataHora: row.created_at, cnpjUsuario: row.controller ?? sealedCnpj, readAt }
  }

  async function readDetail(row: AwarenessRow, id: string): Promise<AwarenessRow> {
    context.require('consentService')
    const stream = streamOf('subject', row.subject)
    const parts = { id: { owner: stream, value: id } }
    const message = { type: 'subject.readAwarenessDetail', data: { record: row.awareness }, parts }
    const outcome = await commands.send(
      { method: 'awareness.get', awareness: row.awareness },
      async () => ({ targets: [{ stream, message }] }),
      {},
      async () => (await rows.find('awareness', row.awareness, stream)) ?? row,
    )
    return valueOf(outcome)
  }

  return {
    async list(filter) {
      checkAge(filter.ageMaxMs)
      const subject = await subjects.find(filter, 'cnpj', 'vanished', 'ageMaxMs')
      const cnpj = filter.cnpj === undefined ? context.options.consentService?.cnpj : parseCnpj(filter.cnpj)
      const readAt = await readings.refresh(subject, filter.ageMaxMs, cnpj)
      const query = views.selectFrom('awareness').selectAll().where('subject', '=', subject).orderBy('awareness')
      const all = await rows.select('awareness', query, { stream: streamOf('subject', subject) })
      const wanted = all.filter(row => {
        if (row.vanished_at !== null && !filter.vanished) return false
        return cnpj === undefined || row.controller === cnpj
      })
      return Promise.all(wanted.map(row => toAwareness(row, readAt(row.controller))))
    },
    async get(selector) {
      const { id, ageMaxMs } = selector
      checkAge(ageMaxMs)
      const subject = await subjects.find(selector, 'id')
      if (!(await findRow(subject, id))) await readings.refresh(subject, ageMaxMs)
      const row = await findRow(subject, id)
      if (!row) return undefined
      const hasVanished = row.vanished_at !== null
      if (hasVanished && row.detail === null) return undefined
      const isFresh = row.detail !== null && context.isFresh(row.described_at, ageMaxMs)
      const described = isFresh || hasVanished ? row : await readDetail(row, id)
      const detail = await requireAs(store, 'awareness', described.detail ?? '')
      const awareness = await toAwareness(described, described.described_at)
      return { ...detail, ...awareness, dataHora: parseIso(detail.dataHora) ?? awareness.dataHora }
    },
  }
}

/** Addresses each listed record to the subject's stream, whose machine knows which ones it has seen. */
export async function routeAwareness(
  context: ApiContext,
  pending: PendingUntil<'consentService.awarenessListed'>,
  fact: OutcomeFact<'consentService.awarenessListed'>,
  since: number,
): Promise<DecisionRequest> {
  const { items, unreadable, askedAt, controller } = fact.data
  const owner = pending.stream
  const when = { ...(askedAt !== undefined && { askedAt }), ...(controller !== undefined && { controller }) }
  const listed: MessageWithParts = {
    type: 'consentService.awarenessListed',
    data: { read: items.length, unreadable: unreadable.length, ...when },
    ...(unreadable.length > 0 && { parts: { unreadable: { owner, value: unreadable } } }),
  }
  if (await context.subjects.isErased(owner)) return { targets: [{ stream: owner, message: listed }] }
  const subject = idOfStream(owner)
  const targets: AddressedMessage[] = []
  const indexEntries = []
  const seen = new Set<string>()
  const byId = new Map(items.map(item => [item.id, item]))
  const indexed = await context.store.lookUpAll(
    'awareness',
    [...byId.keys()].map(id => recordKey(subject, id)),
  )
  for (const [id, { summary, record }] of byId) {
    const key = recordKey(subject, id)
    const known = indexed.get(key)
    const awareness = known ?? context.createId()
    if (known === undefined)
      indexEntries.push({ kind: 'awareness', digest: context.store.digest('awareness', key), value: awareness })
    seen.add(awareness)
    const parts = { record: { owner, value: record } }
    const data = { ...summary, record: awareness }
    targets.push({ stream: owner, message: { type: 'subject.observeAwareness', data, parts }, since })
  }
  // An unreadable record may be any of the seemingly missing ones, so none of them counts as missing.
  const listedBefore = unreadable.length > 0 ? [] : await readListedRecords(context, owner, controller)
  for (const record of listedBefore.filter(each => !seen.has(each)))
    targets.push({ stream: owner, message: { type: 'subject.missAwareness', data: { record } }, since })
  return { targets: [...targets, { stream: owner, message: listed }], indexEntries }
}

/** Our ids of the records listed before, of one controller or all. Reads the log: a stopped view may be out of date. */
async function readListedRecords({ store }: ApiContext, stream: string, of?: string): Promise<readonly string[]> {
  const listed = new Map<string, string | null>()
  const types = ['subject.awarenessAppeared', 'subject.awarenessAmended', 'subject.awarenessVanished'] as const
  for await (const { type, data } of readEvents(store, { stream, types })) {
    if (type === 'subject.awarenessVanished') listed.delete(data.record)
    else listed.set(data.record, data.controller)
  }
  return [...listed].flatMap(([record, controller]) => (of === undefined || of === controller ? [record] : []))
}
