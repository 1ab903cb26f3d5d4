import { clocksDifferMaxMs, fromInstant } from '../../vocabulary/instant.ts'
import type { Event, Instant } from '../../vocabulary/message.ts'
import { type ConsentView, endShown } from './context.ts'
import type { ConsentEvent, StatusMove } from './events.ts'
import { type HistoryEntry, isBeginning, passEntries } from './history.ts'
import { type ConsentStatus, isOpen, moveType, type RequestableStatus } from './status.ts'

/** The events from the recorded status to the shown one: those of the history, or else one without a time. */
export function movesOf(
  held: ConsentView,
  shown: ConsentStatus,
  history: readonly HistoryEntry[],
  askedAt?: Instant,
): readonly ConsentEvent[] {
  const { reading, asked, isLost } = held
  const steps = newSteps(held, shown, history)
  // The status shown now ends the change, whenever it began.
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
    // A deferred or pending change cannot be distinguished from somebody else's.
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
 * Checks that an entry, which is not the last, is from after our request. Clocks differ: a pending denial or revocation
 * is ended only by a certainly later entry, an approval by an entry that may be later. For a lost denial or revocation,
 * the times count to the second: if the service's clock is ahead, our end and one just before it look the same.
 */
function isAfterAsking({ asked, askedAt, isDoubtful }: ConsentView, { since }: StatusStep): boolean {
  if (askedAt === null) return true
  if (since === null) return false
  const afterMs = fromInstant(since) - fromInstant(askedAt)
  if (asked === 'ATIVO') return afterMs >= -clocksDifferMaxMs
  return isDoubtful ? isToTheSecond(afterMs) : afterMs >= clocksDifferMaxMs
}

/** The service may write whole seconds. */
function isToTheSecond(afterMs: number): boolean {
  return afterMs > -1_000
}

/** Checks that an entry may be of our change whose answer was lost. */
function mayBeOurs({ askedAt }: ConsentView, { since }: StatusStep): boolean {
  return since === null || askedAt === null || fromInstant(since) - fromInstant(askedAt) >= -clocksDifferMaxMs
}

/**
 * Checks that a shown status ends our change. Only an end ends a denial or a revocation: an open status may be of an
 * outdated copy or somebody else's change. Any status but PENDENTE ends an approval.
 */
export function endsChange(asked: RequestableStatus, status: ConsentStatus): boolean {
  return asked === 'ATIVO' ? status !== 'PENDENTE' : !isOpen(status)
}

interface StatusStep {
  readonly status: ConsentStatus
  readonly since: Instant | null
}

/** The new entries of a history. One that contradicts the shown or the recorded status is ignored. */
function newSteps(held: ConsentView, shown: ConsentStatus, history: readonly HistoryEntry[]): readonly StatusStep[] {
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

/** Returns the index of the first new entry: after the known ones, after the recorded status, or at our own change. */
function firstNew(held: ConsentView, history: readonly HistoryEntry[]): number {
  const { reading, history: known, untimed } = held
  if (known.length > 0 && isBeginning(known, history)) return passEntries(history, known.length, untimed).next
  const first = history.findIndex(entry => entry.status === reading.status)
  const last = history.findLastIndex(entry => entry.status === reading.status)
  // Without an entry for the recorded status, only the last one is certainly new.
  if (last === -1) return history.length - 1
  const own = history.findIndex((entry, i) => i > first && isOwn(held, entry))
  // An end in a list was not recorded, and the consent was given again since.
  const end = endShown(held)
  const seen = end === undefined ? -1 : history.findLastIndex(({ status }) => status === end)
  return Math.min(last + 1, ...[own, seen].filter(at => at > first))
}

/** Checks that an entry is of our change whose answer was lost. */
function isOwn({ asked, askedAt, isDoubtful }: ConsentView, { status, since }: HistoryEntry): boolean {
  if (!isDoubtful || status !== asked || askedAt === null || since === null) return false
  return isToTheSecond(fromInstant(since) - fromInstant(askedAt))
}

/** The event of a status change. One that is not in the contract's table is a conflict, marked as an anomaly. */
export function move(held: ConsentStatus, data: StatusMove): ConsentEvent {
  const type = moveType(held, data.status)
  if (type) return { type, data }
  const anomaly = `no move leads from ${held} to ${data.status}`
  return { type: 'consent.conflicted', data: { ...data, held }, anomaly }
}

/** Ends the effect whose answer was lost. */
export function resolution(isDone: boolean): Pick<Event, 'resolves'> {
  return { resolves: { effect: 'consentService.changeStatus', as: isDone ? 'settled' : 'declined' } }
}
