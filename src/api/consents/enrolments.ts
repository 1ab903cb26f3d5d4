import { type Cpf, parseCpf } from '../../vocabulary/cpf.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkSyncEveryMs } from '../arguments.ts'
import type { SubjectRef, SubjectSelector } from '../subject-directory.ts'
import { planSync, type SyncPlan } from './sync-plan.ts'
import { owedReadings, scheduleSync } from './sync-schedule.ts'

/** A person to enrol. */
export interface Enrollee {
  readonly cpf: string
  /** How often the consents are read while `run` or `settle` does; else the option `consentService.syncEveryMs`. */
  readonly syncEveryMs?: number
}

/** Data subjects, as they come to be known. */
export interface Enrolments {
  /**
   * Enrols a data subject. Enrolling the same CPF again gives the same ref. With `syncEveryMs`, or the option
   * `consentService.syncEveryMs`, all consents are read that often while `run` or `settle` works, the first time at
   * once; enrolling again with another number changes it, as `schedule` does. The option applies to those for whom
   * nobody has set an interval, or ended one.
   *
   * @throws {AverbaError} `INVALID_CPF`, `INVALID_INPUT`, `PERSONAL_ID`, `COMMAND_REUSED`; `SUBJECT_ERASED` for a
   * command id of somebody who was erased
   */
  enrol(who: { cpf: string }, commandOptions?: CommandOptions & { syncEveryMs?: number }): Promise<SubjectRef>
  /**
   * Enrols many, and gives their refs in the same order as they become durable: many share one commit. A wrong one ends
   * it there: those before it are enrolled, and all of them may be given again.
   */
  enrolAll(
    people: AsyncIterable<Enrollee> | Iterable<Enrollee>,
    commandOptions?: Omit<CommandOptions, 'commandId'>,
  ): AsyncIterable<SubjectRef>
  /**
   * Says how often the consents of a data subject are read from now on: the next time at once; with null, no longer by
   * themselves. A reading of the schedule before that has not left is cancelled.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_INPUT`, `PERSONAL_ID`, `COMMAND_REUSED`
   */
  schedule(
    selector: SubjectSelector,
    commandOptions: CommandOptions & { syncEveryMs: number | null },
  ): Promise<void>
  /** Says how fresh the consents of all data subjects can be kept, and tells the logger when it is not enough. */
  syncPlan(): Promise<SyncPlan>
}

/** How many are on their way at once: they meet in the same commits. */
const togetherMax = 64

/** Makes the part of the area `consents` that enrols. */
export function createEnrolments(context: ApiContext): Enrolments {
  const { commands, subjects } = context

  async function enrol(
    who: { cpf: string },
    { syncEveryMs, ...ask }: CommandOptions & { syncEveryMs?: number | undefined } = {},
  ): Promise<SubjectRef> {
    const cpf = checkEnrollee({ ...who, syncEveryMs })
    const everyMs = syncEveryMs ?? context.options.consentService?.syncEveryMs
    const input = { method: 'consents.enrol', cpf, ...(syncEveryMs !== undefined && { syncEveryMs }) }
    const deliver = async () => {
      const met = await subjects.meet(cpf, 'host')
      if (everyMs === undefined) return met
      const before = met.targets.length > 0 ? [] : await owedReadings(context, met.subject)
      const message = scheduleSync(context, everyMs, before, { isDefault: syncEveryMs === undefined })
      return { ...met, targets: [...met.targets, { stream: streamOf('subject', met.subject), message }] }
    }
    await commands.record(input, deliver, ask)
    return subjects.find({ cpf })
  }

  async function* enrolAll(
    people: AsyncIterable<Enrollee> | Iterable<Enrollee>,
    commandOptions: Omit<CommandOptions, 'commandId'> = {},
  ): AsyncIterable<SubjectRef> {
    const under: Promise<SubjectRef>[] = []
    let wrong: unknown
    try {
      for await (const person of people) {
        const cpf = checkEnrollee(person)
        const enrolling = enrol({ cpf }, { ...commandOptions, syncEveryMs: person.syncEveryMs })
        enrolling.catch(() => undefined) // Told of when its turn comes.
        under.push(enrolling)
        if (under.length >= togetherMax) yield* take(under, togetherMax / 2)
      }
    } catch (error) {
      wrong = error
    }
    yield* take(under, under.length)
    if (wrong !== undefined) throw wrong
  }

  async function schedule(
    selector: SubjectSelector,
    { syncEveryMs, ...ask }: CommandOptions & { syncEveryMs: number | null },
  ) {
    if (syncEveryMs !== null) checkSyncEveryMs(syncEveryMs)
    const subject = await subjects.find(selector)
    const deliver = async () => {
      const message = scheduleSync(context, syncEveryMs, await owedReadings(context, subject))
      return { targets: [{ stream: streamOf('subject', subject), message }] }
    }
    await commands.record({ method: 'consents.schedule', subject, syncEveryMs }, deliver, ask)
  }

  async function syncPlan(): Promise<SyncPlan> {
    const plan = await planSync(context)
    const message = 'the consents cannot be kept as fresh as asked'
    if (!plan.ok) context.log({ message, detail: plan.detail })
    return plan
  }

  return { enrol, enrolAll, schedule, syncPlan }
}

/** Checks first: nothing is recorded of somebody who cannot be enrolled. */
function checkEnrollee({ cpf, syncEveryMs }: { cpf: string; syncEveryMs?: number | undefined }): Cpf {
  if (syncEveryMs !== undefined) checkSyncEveryMs(syncEveryMs)
  return parseCpf(cpf)
}

async function* take(under: Promise<SubjectRef>[], count: number): AsyncIterable<SubjectRef> {
  const refs = await Promise.all(under.slice(0, count))
  under.splice(0, count)
  yield* refs
}
