import { clocksDifferMaxMs, fromInstant } from '../../vocabulary/instant.ts'
import type { Event, Instant } from '../../vocabulary/message.ts'
import { type ConsentView, endShown } from './context.ts'
import type { ConsentEvent, StatusMove } from './events.ts'
import { type HistoryEntry, isBeginning, passEntries } from './history.ts'
import { type ConsentStatus, isOpen, moveType, type RequestableStatus } from './status.ts'

/** The moves from what we hold to what is shown: those of the history, or else one without a time. */
export function movesOf(
  held: ConsentView,
  shown: ConsentStatus,
  history: readonly HistoryEntry[],
  askedAt?: Instant,
): readonly ConsentEvent[] {
  const { reading, asked, isLost } = held
  const steps = newSteps(held, shown, history)
  // What is shown now ends it, whenever it began.
  const isEnding = (step: StatusStep) =>
    asked !== null && endsChange(asked, step.status) && (step === steps.at(-1) || isAfterAsking(held, step))
  const isDone = steps.some(step => step.status === asked && isEnding(step))
  let from = reading.status
  let isChangePending = asked !== null
  let isUnresolved = isLost
  return steps.map(step => {
    const { status, since } = step
    isChangePending &&= !isEnding(step)
    const isResolving = isUnresolved && isEnding(step) && (!isDone || status === asked)
    // A change that was put off, or is still on its way, cannot be told from somebody else's.
    const by = isResolving && isDone && mayBeOurs(held, step) ? 'us' : 'service'
    const isEnd = step === steps.at(-1) && !isOpen(status) && askedAt !== undefined
    const told = {
      ...(since !== null && { since }),
      ...(isEnd && { askedAt }),
      ...(isChangePending && { isChangePending }),
    }
    const made = move(from, { status, by, ...told })
    from = status
    if (!isResolving) return made
    isUnresolved = false
    return { ...made, ...resolution(isDone) }
  })
}

/**
 * Reports whether an entry that others follow tells of the time after we asked. Clocks differ: a denial or a revocation
 * that is still to leave is ended by what came certainly later, and an approval by what may be ours. Of a denial or a
 * revocation that was lost the dates count as they are, to the second: an end that was ours and one from just before
 * it look the same where the service's clock is ahead.
 */
function isAfterAsking({ asked, askedAt, isDoubtful }: ConsentView, { since }: StatusStep): boolean {
  if (askedAt === null) return true
  if (since === null) return false
  const afterMs = fromInstant(since) - fromInstant(askedAt)
  if (asked === 'ATIVO') return afterMs >= -clocksDifferMaxMs
  return isDoubtful ? isToTheSecond(afterMs) : afterMs >= clocksDifferMaxMs
}

/** A service may write whole seconds. */
function isToTheSecond(afterMs: number): boolean {
  return afterMs > -1_000
}

/** Reports whether an entry may be that of a change of ours whose answer was lost. */
function mayBeOurs({ askedAt }: ConsentView, { since }: StatusStep): boolean {
  return since === null || askedAt === null || fromInstant(since) - fromInstant(askedAt) >= -clocksDifferMaxMs
}

/**
 * Reports whether a status that is shown ends a change of ours. A denial or a revocation is ended by an end alone: an
 * open status may be that of an older copy, or somebody else's doing. An approval is ended by whatever is not PENDENTE.
 */
export function endsChange(asked: RequestableStatus, status: ConsentStatus): boolean {
  return asked === 'ATIVO' ? status !== 'PENDENTE' : !isOpen(status)
}

interface StatusStep {
  readonly status: ConsentStatus
  readonly since: Instant | null
}

/** The new entries of a history. A history that contradicts what is shown, or what we hold, tells nothing. */
function newSteps(
  held: ConsentView,
  shown: ConsentStatus,
  history: readonly HistoryEntry[],
): readonly StatusStep[] {
  const { status } = held.reading
  const last = history.at(-1)
  const isTold = last?.status === shown
  const plain: StatusStep[] = status === shown ? [] : [{ status: shown, since: isTold ? last.since : null }]
  if (!isTold) return plain
  const steps = history
    .slice(firstNew(held, history))
    .flatMap(entry => (entry.status === null ? [] : [{ ...entry, status: entry.status }]))
  const news = steps[0]?.status === status ? steps.slice(1) : steps
  return news.length > 0 ? news : plain
}

/** Where the entries begin that we have not seen: after those known, or after what we hold, or with our own change. */
function firstNew(held: ConsentView, history: readonly HistoryEntry[]): number {
  const { reading, history: known, untimed } = held
  if (known.length > 0 && isBeginning(known, history)) return passEntries(history, known.length, untimed).next
  const first = history.findIndex(entry => entry.status === reading.status)
  const last = history.findLastIndex(entry => entry.status === reading.status)
  // Without an entry for what we hold, only the last one is certainly new.
  if (last === -1) return history.length - 1
  const own = history.findIndex((entry, i) => i > first && isOwn(held, entry))
  // An end that a list showed has not been recorded, though the consent was given anew since.
  const end = endShown(held)
  const seen = end === undefined ? -1 : history.findLastIndex(({ status }) => status === end)
  return Math.min(last + 1, ...[own, seen].filter(at => at > first))
}

/** Reports whether an entry stands for what we asked for, and whose answer was lost. */
function isOwn({ asked, askedAt, isDoubtful }: ConsentView, { status, since }: HistoryEntry): boolean {
  if (!isDoubtful || status !== asked || askedAt === null || since === null) return false
  return isToTheSecond(fromInstant(since) - fromInstant(askedAt))
}

/** A move of the contract's table; any other is a conflict, marked as an anomaly. */
export function move(held: ConsentStatus, data: StatusMove): ConsentEvent {
  const type = moveType(held, data.status)
  if (type) return { type, data }
  const anomaly = `no move leads from ${held} to ${data.status}`
  return { type: 'consent.conflicted', data: { ...data, held }, anomaly }
}

/** Ends the change whose answer was lost. */
export function resolution(isDone: boolean): Pick<Event, 'resolves'> {
  return { resolves: { effect: 'consentService.changeStatus', as: isDone ? 'settled' : 'declined' } }
}
