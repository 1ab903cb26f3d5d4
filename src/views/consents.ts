import type { ConsentEvent } from '../machines/consent/events.ts'
import {
  countRequests,
  endsOpenChange,
  isMaybeMade,
  isMaybeSent,
  isMove,
  isNeverSent,
  isWantedEnd,
  showsStatus,
} from '../machines/consent/moves.ts'
import { isEndShown } from '../machines/consent/standing.ts'
import { type ConsentStatus, isOpen, type RequestableStatus } from '../machines/consent/status.ts'
import type { Instant, PartAddress } from '../vocabulary/message.ts'
import { defineView, integer, type RecordedOf, type RowOf, text } from '../vocabulary/view.ts'
import { isOlderAnswer } from './recorded-answer.ts'

const columns = {
  consent: text(),
  subject: text(),
  status: text<ConsentStatus>(),
  /** `changed`: a reading differs or a change was refused, and it is read in full. `erased`: with its subject. */
  knowledge: text<'known' | 'changed' | 'changing' | 'uncertain' | 'vanished' | 'erased'>(),
  created_at: text<Instant | null>(),
  expires_at: text<Instant | null>(),
  /** When to record its expiry; null once recorded, or when the consent is no longer open. */
  lapses_at: text<Instant | null>(),
  /** When the end was first asked for that has not been shown yet; null when none is wanted. */
  end_wanted_at: text<Instant | null>(),
  /** When it was asked for last: an end from before that does not end it. */
  end_asked_at: text<Instant | null>(),
  /** The requested change whose outcome is not known, and whether its answer was lost or showed another status. */
  asked: text<RequestableStatus | null>(),
  asked_at: text<Instant | null>(),
  is_lost: integer<0 | 1>(),
  /** How many requests for what is wanted were made, without those that certainly never left. */
  requests: integer(),
  /** What differs until a full reading: the status that was shown, an unreadable one, or our refused change. */
  doubt: text<ConsentStatus | 'unreadable' | 'refused' | null>(),
  /** The CNPJ of the controller; null when the service gave no valid one. */
  controller: text<string | null>(),
  changed_at: text<Instant>(),
  record: text<PartAddress>(),
  /** The part with the latest detail, and when it was requested; null before the first. */
  detail: text<PartAddress | null>(),
  described_at: text<Instant | null>(),
}

/** The latest known state of a consent request. */
export type ConsentRow = RowOf<typeof columns>

/** The view of consents. */
export const consents = defineView<ConsentRow, RecordedOf<ConsentEvent>>({
  name: 'consents',
  version: 1,
  kinds: ['consent'],
  columns,
  isByStream: true,
  indexes: ['lapses_at', 'subject', 'end_wanted_at'],
  key: event => event.stream,
  fold(row, event) {
    if (event.type === 'consent.appeared') {
      const { subject, status, createdAt, expiresAt, controller } = event.data
      const { asked, asked_at, is_lost } = row && !isChangeEnded(row, event.data) ? row : noChange
      // An end that was shown before it vanished is still to be read.
      const doubt = row && isEndShown(row.doubt) ? row.doubt : null
      const knowledge = knowledgeOf({ asked, is_lost, doubt })
      return {
        consent: event.stream,
        subject,
        status: cautiousOf(status, doubt),
        knowledge,
        created_at: createdAt,
        expires_at: expiresAt,
        lapses_at: canLapse({ status, knowledge }) ? expiresAt : null,
        ...(row ? endAfter(row, event) : noEnd),
        asked,
        asked_at,
        is_lost,
        requests: row?.requests ?? 0,
        doubt,
        controller,
        changed_at: event.at,
        record: `${event.id}/record`,
        detail: row?.detail ?? null,
        described_at: row?.described_at ?? null,
      }
    }
    if (!row) return undefined
    if (event.type === 'consent.used' || event.type === 'consent.useRefused') return row
    // Later events do not change an erased consent.
    if (event.type === 'consent.erased' || row.knowledge === 'erased')
      return { ...row, knowledge: 'erased', lapses_at: null, ...noEnd, changed_at: event.at }
    const after = { ...row, changed_at: event.at }
    Object.assign(after, endAfter(row, event))
    applyEvent(after, event)
    after.requests = countRequests({ endWantedAt: row.end_wanted_at, requests: row.requests }, event)
    after.lapses_at = lapsesAt(row, after, event.type === 'consent.lapsed')
    return after
  },
})

const noEnd = { end_wanted_at: null, end_asked_at: null } as const

function endAfter(row: ConsentRow, event: RecordedOf<ConsentEvent>): Pick<ConsentRow, keyof typeof noEnd> {
  const { end_wanted_at, end_asked_at, is_lost } = row
  if (event.type === 'consent.endWithdrawn') return noEnd
  if (event.type === 'consent.changeRequested' || event.type === 'consent.endWanted') {
    const asked = event.data.askedAt ?? event.at
    return 'status' in event.data && event.data.status === 'ATIVO'
      ? noEnd
      : { end_wanted_at: end_wanted_at ?? asked, end_asked_at: asked }
  }
  const isEnded = showsStatus(event) && isWantedEnd({ endWantedAt: end_asked_at, isLost: is_lost === 1 }, event.data)
  return isEnded ? noEnd : { end_wanted_at, end_asked_at }
}

function canLapse({ status, knowledge }: Pick<ConsentRow, 'status' | 'knowledge'>): boolean {
  return isOpen(status) && knowledge !== 'vanished'
}

/** An expiry that was recorded is not due again, unless the date has changed. */
function lapsesAt(before: ConsentRow, after: ConsentRow, isRecorded: boolean): Instant | null {
  if (isRecorded || !canLapse(after)) return null
  const wasRecorded = canLapse(before) && before.lapses_at === null && before.expires_at === after.expires_at
  return wasRecorded ? null : after.expires_at
}

const noChange = { asked: null, asked_at: null, is_lost: 0 } as const

function isChangeEnded(
  { asked, asked_at: askedAt, is_lost }: ConsentRow,
  shown: { status: ConsentStatus; since?: Instant; askedAt?: Instant },
): boolean {
  return endsOpenChange({ asked, askedAt, change: is_lost ? 'lost' : 'requested' }, shown)
}

/** Changes the row in place: a rebuild would otherwise copy it several times for every event. */
function applyEvent(row: ConsentRow, event: RecordedOf<ConsentEvent>): void {
  if (isMove(event) || event.type === 'consent.confirmed') {
    row.status = event.data.status
    row.doubt = null
    // Our own open change stays so.
    if (row.asked === null || isChangeEnded(row, event.data)) Object.assign(row, noChange)
    row.knowledge = knowledgeOf(row)
    return
  }
  switch (event.type) {
    case 'consent.changeNotMade':
      setChange(row, null)
      return
    case 'consent.endWithdrawn':
    case 'consent.endWanted':
      if (isNeverSent(row, event.data)) setChange(row, null)
      else if (isMaybeSent(row, event.data)) setChange(row, row.asked, 1)
      return
    case 'consent.changeWithheld':
      if (event.data.asked !== row.asked) return
      if (isMaybeMade(row, event.data)) setChange(row, row.asked, 1)
      else setChange(row, null)
      return
    case 'consent.amended':
      row.created_at = event.data.createdAt
      row.expires_at = event.data.expiresAt
      row.controller = event.data.controller
      return
    case 'consent.changeSeen':
      row.doubt = event.data.status ?? 'unreadable'
      row.status = cautiousOf(row.status, row.doubt)
      settleKnowledge(row)
      return
    case 'consent.changeRequested':
    case 'consent.changeRepeated':
      row.asked_at = event.data.askedAt ?? null
      setChange(row, event.data.status)
      return
    case 'consent.changeLost':
    case 'consent.changeContradicted':
      setChange(row, row.asked, 1)
      return
    case 'consent.changeDeclined':
      row.doubt ??= 'refused'
      setChange(row, null)
      return
    case 'consent.vanished':
      row.knowledge = 'vanished'
      return
    case 'consent.described':
      if (isOlderAnswer(row.described_at, event)) return
      row.detail = `${event.id}/detail`
      row.described_at = event.data.askedAt ?? event.at
  }
}

function setChange(row: ConsentRow, asked: RequestableStatus | null, isLost: 0 | 1 = 0): void {
  row.asked = asked
  row.is_lost = asked === null ? 0 : isLost
  settleKnowledge(row)
}

/** A consent that is not listed stays so until it is listed again. */
function settleKnowledge(row: ConsentRow): void {
  if (row.knowledge !== 'vanished') row.knowledge = knowledgeOf(row)
}

function knowledgeOf({ asked, is_lost, doubt }: Pick<ConsentRow, 'asked' | 'is_lost' | 'doubt'>) {
  if (asked !== null) return is_lost ? 'uncertain' : 'changing'
  return doubt === null ? 'known' : 'changed'
}

/** Until it is read in full, the more cautious status counts. */
function cautiousOf(status: ConsentStatus, doubt: ConsentRow['doubt']): ConsentStatus {
  return isEndShown(doubt) ? doubt : status
}
