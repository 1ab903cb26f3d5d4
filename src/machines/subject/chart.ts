import { assign, type SnapshotFrom, setup } from 'xstate'
import { actionsOf, reports, typesOf } from '../definition/chart-rules.ts'
import type { AwarenessReading, SubjectEvent } from './messages.ts'

/**
 * Records by their id: a map hides the entries of those after it, and a vanished record has an entry without a value.
 * Each map is larger than all before it: a change copies few entries, and leaves the former state as it is.
 */
type AwarenessRecords = readonly ReadonlyMap<string, AwarenessReading | undefined>[]

interface SubjectContext {
  readonly subject: string
  /** The latest listed state of the awareness records that have not vanished. */
  readonly awareness: AwarenessRecords
  /** The interval of the latest schedule, and how many there were. */
  readonly everyMs: number
  readonly schedules: number
  readonly holds: readonly string[]
}

const held = { 'subject.held': { actions: 'keepHold' } } as const
const released = { 'subject.released': { guard: 'isHeld', actions: 'endHold' } } as const
const erased = [
  {
    guard: { type: 'reports', params: { isPartial: true } },
    target: '#subject.erased.partly',
    actions: 'forgetRecords',
  },
  { target: '#subject.erased.wholly', actions: ['forgetRecords', 'endHolds'] },
] as const
const notHeld = { 'subject.released': { refused: 'no hold has this reason', code: 'NOT_FOUND' } } as const
const notErased = { refused: 'its data subject was not erased' }

const keep = actionsOf<SubjectEvent, SubjectContext>()

/** The chart of a data subject: enrolled, with or without a schedule of readings, and erased. */
export const chart = setup({
  types: typesOf<SubjectEvent, SubjectContext>(),
  guards: {
    reports,
    isHeld: ({ context, event }) => event.type === 'subject.released' && context.holds.includes(event.data.reason),
  },
  actions: {
    keepSubject: keep('subject.enrolled', ({ data }) => ({ subject: data.subject })),
    keepSchedule: keep('subject.scheduled', ({ data }, { schedules }) => ({
      everyMs: data.everyMs,
      schedules: schedules + 1,
    })),
    keepHold: keep('subject.held', ({ data }, { holds }) => ({ holds: [...holds, data.reason] })),
    endHold: keep('subject.released', ({ data }, { holds }) => ({ holds: holds.filter(each => each !== data.reason) })),
    endHolds: assign({ holds: [] }),
    keepRecord: keep(['subject.awarenessAppeared', 'subject.awarenessAmended'], ({ data }, { awareness }) => ({
      awareness: withRecord(awareness, data.record, toAwarenessReading(data)),
    })),
    dropRecord: keep('subject.awarenessVanished', ({ data }, { awareness }) => ({
      awareness: withRecord(awareness, data.record, undefined),
    })),
    forgetRecords: assign({ awareness: [] }),
  },
}).createMachine({
  id: 'subject',
  description: 'A data subject: enrolment, readings about the person, and erasure.',
  context: { subject: '', awareness: [], everyMs: 0, schedules: 0, holds: [] },
  initial: 'unmet',
  on: { 'subject.unexpected': {} },
  states: {
    unmet: {
      description: 'No person is enrolled under this id.',
      on: { 'subject.enrolled': { target: 'enrolled', actions: 'keepSubject' } },
      meta: { refusesAll: { refused: 'no data subject is enrolled under this id' } },
    },
    enrolled: {
      description: 'We know the CPF, and may read about the person.',
      initial: 'unscheduled',
      on: {
        ...{ ...held, ...released },
        'subject.syncRequested': {},
        'subject.synced': {},
        'subject.scheduled': { target: '.scheduled', actions: 'keepSchedule' },
        'subject.awarenessRequested': {},
        'subject.awarenessListed': {},
        'subject.awarenessAppeared': { actions: 'keepRecord' },
        'subject.awarenessAmended': { actions: 'keepRecord' },
        'subject.awarenessVanished': { actions: 'dropRecord' },
        'subject.awarenessDetailRequested': {},
        'subject.awarenessDescribed': {},
        'subject.loginRequested': {},
        'subject.loginRead': {},
        'subject.loginAddressRequested': {},
        'subject.loginAddressRead': {},
        'subject.readDeclined': {},
        'subject.useRefused': {},
        'subject.erasureRequested': {},
        'subject.erased': erased,
      },
      meta: { refuses: { ...notHeld, 'subject.erasureCompleted': notErased, 'subject.epochsDestroyed': notErased } },
      states: {
        unscheduled: { description: 'The consents were never read by a schedule.' },
        scheduled: { description: 'The consents are read by a schedule.', on: { 'subject.unscheduled': 'ended' } },
        ended: { description: 'The host ended the schedule, so no default begins another one.' },
      },
    },
    erased: {
      description: "The person's data was destroyed.",
      initial: 'wholly',
      on: { 'subject.erasureCompleted': {}, 'subject.epochsDestroyed': {} },
      meta: { refusesAll: { refused: 'its data subject was erased', code: 'SUBJECT_ERASED' } },
      states: {
        partly: {
          description: 'The law requires to keep some of it, which may be held, and erased later.',
          on: { ...held, ...released, 'subject.erasureRequested': {}, 'subject.erased': erased },
          meta: { refuses: notHeld },
        },
        wholly: { description: 'Nothing was kept.' },
      },
    },
  },
})

function withRecord(
  awareness: AwarenessRecords,
  record: string,
  reading: AwarenessReading | undefined,
): AwarenessRecords {
  let changed = new Map([[record, reading]])
  let merged = 0
  for (const each of awareness) {
    if (each.size > changed.size) break
    changed = new Map([...each, ...changed])
    merged += 1
  }
  return [changed, ...awareness.slice(merged)]
}

/** The latest listed state of a record that has not vanished. */
export function findAwareness({ awareness }: SubjectContext, record: string): AwarenessReading | undefined {
  return awareness.find(each => each.has(record))?.get(record)
}

/** Picks the reading of an awareness record from a larger object. */
export function toAwarenessReading({ record, createdAt, controller }: AwarenessReading): AwarenessReading {
  return { record, createdAt, controller }
}

export type SubjectState = SnapshotFrom<typeof chart>
