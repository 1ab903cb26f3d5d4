import type { SyncAgain } from '../../machines/subject/messages.ts'
import { randomUpTo } from '../../runtime/entropy.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { MessageWithParts, PendingEffect } from '../../vocabulary/message.ts'
import { checkKnownNames, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import { type Cpf, parseCpf } from '../../vocabulary/tax-numbers.ts'
import type { ApiContext } from '../api-context.ts'
import { checkSyncEveryMs } from '../arguments.ts'
import { isEffect, type OutcomeFact, type PendingOf } from '../effect-types.ts'
import type { SubjectRef, SubjectSelector } from '../subject-directory.ts'
import { logLatePlan, planSync, type SyncPlan } from './freshness.ts'

/** A person to enrol. */
export interface Enrollee {
  readonly cpf: string
  /** How often the consents are read while `run` or `settle` works; default: `consentService.syncEveryMs`. */
  readonly syncEveryMs?: number
}

/** Enrolment of data subjects, and the schedules of their readings. */
export interface Enrolments {
  /**
   * Enrols a data subject; the same CPF always gets the same ref. With `syncEveryMs`, here or in `consentService`, the
   * consents are read at once and then at that interval while `run` or `settle` works. The option applies only to
   * subjects for which no interval was set or ended.
   *
   * @throws {AverbaError} `INVALID_CPF`, `INVALID_INPUT`, `PERSONAL_ID`, `COMMAND_REUSED`; `SUBJECT_ERASED` for a
   * command id of an erased subject
   */
  enrol(who: Enrollee, commandOptions?: CommandOptions & { syncEveryMs?: number }): Promise<SubjectRef>
  /**
   * Enrols many people and yields their refs in order, once durable; several share one commit. A wrong entry stops it:
   * the people before are enrolled, and the whole list may be given again.
   */
  enrolAll(
    people: AsyncIterable<Enrollee> | Iterable<Enrollee>,
    commandOptions?: Omit<CommandOptions, 'commandId'>,
  ): AsyncIterable<SubjectRef>
  /**
   * Sets how often the consents of a data subject are read, beginning at once; null ends the schedule. An unsent
   * reading of the former schedule is cancelled.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_INPUT`, `PERSONAL_ID`, `COMMAND_REUSED`
   */
  schedule(selector: SubjectSelector, commandOptions: CommandOptions & { syncEveryMs: number | null }): Promise<void>
  /** Computes how fresh all consents can be kept, and logs when that is not as configured. */
  syncPlan(): Promise<SyncPlan>
}

/** How many enrolments are under way at once. They share commits. */
const concurrentMax = 64

/** Creates the part of the `consents` area that enrols. */
export function createEnrolments(context: ApiContext): Enrolments {
  const { commands, subjects } = context

  const enrolments: Enrolments = {
    async enrol(who, { syncEveryMs = who?.syncEveryMs, ...ask } = {}) {
      const cpf = checkEnrollee(who)
      if (syncEveryMs !== undefined) checkSyncEveryMs(syncEveryMs)
      const everyMs = syncEveryMs ?? context.options.consentService?.syncEveryMs
      const input = { method: 'consents.enrol', cpf, ...(syncEveryMs !== undefined && { syncEveryMs }) }
      const createRequest = async () => {
        const request = await subjects.prepareSubject(cpf, 'host')
        if (everyMs === undefined) return request
        const { subject, targets } = request
        const scheduled = targets.length > 0 ? [] : await findScheduledReadings(context, subject)
        const message = scheduleSync(context, everyMs, scheduled, { isDefault: syncEveryMs === undefined })
        return { ...request, targets: [...targets, { stream: streamOf('subject', subject), message }] }
      }
      await commands.record(input, createRequest, ask)
      return subjects.find({ cpf })
    },
    async *enrolAll(people, commandOptions = {}) {
      if (!(Symbol.asyncIterator in Object(people) || Symbol.iterator in Object(people)))
        throw new AverbaError('INVALID_INPUT', 'Cannot enrol the people: they are no list', {
          hint: 'Pass an array, or another iterable or async iterable, of their CPFs',
        })
      const enrolling: Promise<SubjectRef>[] = []
      let failure: unknown
      try {
        for await (const person of people) {
          checkEnrollee(person)
          const enrolment = enrolments.enrol(person, commandOptions)
          enrolment.catch(() => undefined) // Thrown below, in its turn.
          enrolling.push(enrolment)
          if (enrolling.length >= concurrentMax) yield* yieldEnrolled(enrolling, concurrentMax / 2)
        }
      } catch (error) {
        failure = error
      }
      yield* yieldEnrolled(enrolling, enrolling.length)
      if (failure !== undefined) throw failure
    },
    async schedule(selector, { syncEveryMs, ...ask }) {
      if (syncEveryMs !== null) checkSyncEveryMs(syncEveryMs)
      const subject = await subjects.find(selector)
      const createRequest = async () => {
        const message = scheduleSync(context, syncEveryMs, await findScheduledReadings(context, subject))
        return { targets: [{ stream: streamOf('subject', subject), message }] }
      }
      await commands.record({ method: 'consents.schedule', subject, syncEveryMs }, createRequest, ask)
    },
    async syncPlan() {
      const plan = await planSync(context)
      logLatePlan(context, plan)
      return plan
    },
  }
  return enrolments
}

function checkEnrollee(who: Enrollee): Cpf {
  checkKnownNames(who, ['cpf', 'syncEveryMs'], { noun: 'member', of: 'the person' })
  if (who.syncEveryMs !== undefined) checkSyncEveryMs(who.syncEveryMs)
  return parseCpf(who.cpf)
}

async function* yieldEnrolled(enrolling: Promise<SubjectRef>[], count: number): AsyncIterable<SubjectRef> {
  const refs = await Promise.all(enrolling.slice(0, count))
  enrolling.splice(0, count)
  yield* refs
}

/** Schedules readings from now on; null ends them. `effects` are the former schedule's unsent readings, cancelled. */
function scheduleSync(
  context: ApiContext,
  everyMs: number | null,
  effects: readonly string[],
  { isDefault = false } = {},
): MessageWithParts {
  const ends = { ...(effects.length > 0 && { effects }), ...(isDefault && { isDefault }) }
  return everyMs === null
    ? { type: 'subject.unschedule', data: { ...ends } }
    : { type: 'subject.schedule', data: { everyMs, dueAt: toInstant(context.clock.now()), ...ends } }
}

/** The unsent readings of a subject's schedule. A reading under way finishes by itself. */
async function findScheduledReadings({ store }: ApiContext, subject: string): Promise<string[]> {
  const unsent = await store.effects({
    stream: streamOf('subject', subject),
    states: ['pending', 'deferred', 'parked'],
  })
  const readings = unsent.filter(each => isEffect(each, 'consentService.listConsents'))
  return readings.filter(({ data }) => data.schedule !== undefined).map(each => each.id)
}

/**
 * When the next reading of a schedule is due. Counted from now, so that one reading makes up for all missed while no
 * process ran; with 10 % of jitter, so that subjects enrolled together drift apart.
 */
export function nextSync(
  context: ApiContext,
  { data: { everyMs, schedule } }: PendingOf<'consentService.listConsents'>,
): { again?: SyncAgain } {
  if (everyMs === undefined || schedule === undefined) return {}
  const waitMs = Math.round(everyMs * 0.9) + randomUpTo(context.entropy, Math.round(everyMs * 0.2))
  return { again: { schedule, dueAt: toInstant(context.clock.now() + waitMs) } }
}

export function addNextSync(
  context: ApiContext,
  pending: PendingEffect,
  fact: OutcomeFact<'consentService.readDeclined'>,
): MessageWithParts {
  if (!isEffect(pending, 'consentService.listConsents')) return fact
  return { ...fact, data: { ...fact.data, ...nextSync(context, pending) } }
}
