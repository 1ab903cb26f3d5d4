import { hash } from 'node:crypto'
import { canonicalJson } from '../../proof/canonical-json.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { printable } from '../../vocabulary/printable.ts'

/** What one subscription needs, and why. */
export interface PlannedChange {
  readonly action: 'create' | 'adopt' | 'change' | 'delete' | 'leave'
  readonly evento: string
  readonly endpoint: string
  readonly reason: string
  /** The portal's id of the subscription that it is about; null where the portal has none. */
  readonly id: number | null
  /** The event is taken by a subscription that is not ours: it is left alone, unless `takeOver` is allowed. */
  readonly isTaken: boolean
}

/** What it takes to bring the portal in step with the declared subscriptions. Shows no secret. */
export interface Plan {
  /** Stands for this very plan: `apply` refuses it once the portal or the options have changed. */
  readonly hash: string
  readonly changes: readonly PlannedChange[]
  /** The portal's ids of subscriptions that it lists in a form that cannot be read; null where not even that can be. */
  readonly unreadable: readonly (number | null)[]
  toString(): string
}

/** A subscription as the portal lists it, its secrets turned into a keyed digest. */
export type ListedAtPortal = {
  readonly remoteId: number
  readonly evento: string
  readonly endpoint: string
  readonly secrets: string
  /** The generation of our secrets that it carries; null when they are not ours. */
  readonly generation: number | null
  readonly isDeleted: boolean
  readonly lastSuccessAt: Instant | null
  readonly registeredAt: Instant | null
}

/** A subscription as the host wants it. */
export interface WantedSubscription {
  readonly evento: string
  readonly endpoint: string
  readonly secrets: string
  /** The generation of the secrets that is in use. */
  readonly generation: number
  /** The portal deleted it, and it is not to be proposed again. */
  readonly isGivenUp: boolean
}

/**
 * Compares what is wanted with what the portal lists. `ours` says by the portal's ids for which event we have each: the
 * portal may show another one, since anybody can change it there.
 */
export function makePlan(
  wanted: readonly WantedSubscription[],
  listed: readonly ListedAtPortal[],
  ours: ReadonlyMap<number, string>,
  unreadable: readonly (number | null)[],
): Plan {
  const active = listed.filter(each => !each.isDeleted)
  const seen = new Set<ListedAtPortal>()
  const changes: PlannedChange[] = wanted.map(want => {
    const others = active.filter(each => each.evento === want.evento && !ours.has(each.remoteId))
    const own =
      active.find(each => ours.get(each.remoteId) === want.evento) ??
      others.find(each => isAlike(each, want)) ??
      others[0]
    if (own) seen.add(own)
    const { evento, endpoint } = want
    const hidden = unreadable.find(id => id !== null && ours.get(id) === evento)
    if (hidden !== undefined) {
      const reason = 'the portal shows it in a form that cannot be read'
      return { action: 'change', evento, endpoint, reason, id: hidden, isTaken: false }
    }
    return {
      evento,
      endpoint,
      id: own?.remoteId ?? null,
      isTaken: false,
      ...compareSubscription(want, own, ours),
    }
  })
  for (const each of active.filter(each => !seen.has(each))) {
    const { remoteId: id, endpoint } = each
    const isDropped = ours.has(id)
    const evento = ours.get(id) ?? each.evento
    const reason = isDropped ? 'it is no longer declared' : 'it is not ours'
    changes.push({ action: isDropped ? 'delete' : 'leave', evento, endpoint, reason, id, isTaken: false })
  }
  const state = canonicalJson({
    changes: [...changes],
    listed: active.map(withoutLastSuccess),
    unreadable: [...unreadable],
    wanted: [...wanted],
  })
  return {
    hash: hash('sha256', state, 'hex'),
    changes,
    unreadable,
    toString: () => [...changes.map(formatChange), ...unreadable.map(formatUnreadable)].join('\n'),
  }
}

/** What a plan depends on: a delivery that succeeds changes no plan. */
function withoutLastSuccess({ lastSuccessAt: _, ...listed }: ListedAtPortal) {
  return listed
}

function formatChange({ action, isTaken, evento, endpoint, reason }: PlannedChange): string {
  return printable(`${isTaken ? 'taken' : action} ${evento} ${endpoint} (${reason})`)
}

function formatUnreadable(id: number | null): string {
  return `unreadable ${id ?? 'without an id'} (its row cannot be read: look at it in the portal)`
}

function compareSubscription(
  want: WantedSubscription,
  found: ListedAtPortal | undefined,
  ours: ReadonlyMap<number, string>,
): Pick<PlannedChange, 'action' | 'reason'> & { isTaken?: boolean } {
  if (!found) {
    return want.isGivenUp
      ? { action: 'leave', reason: 'the portal deleted it, and recreate is announce' }
      : { action: 'create', reason: 'the portal has none' }
  }
  const isOurs = ours.has(found.remoteId)
  if (!isOurs && isAlike(found, want)) return { action: 'adopt', reason: 'the portal has the same one' }
  if (!isOurs) return { action: 'leave', reason: 'the event is taken by one that is not ours', isTaken: true }
  const differing = [
    ...(found.evento === want.evento ? [] : ['event']),
    ...(found.endpoint === want.endpoint ? [] : ['endpoint']),
    // A later generation is never taken back: an earlier secret may have leaked.
    ...(found.generation !== null && found.generation >= want.generation ? [] : ['secrets']),
  ]
  if (differing.length === 0) return { action: 'leave', reason: 'it is as declared' }
  const isOne = differing.length === 1 && differing[0] !== 'secrets'
  const reason = `its ${differing.join(' and ')} ${isOne ? 'differs' : 'differ'}`
  return { action: 'change', reason }
}

/** Whether it has our endpoint, and secrets that only we can have given it. */
function isAlike(listed: ListedAtPortal, want: WantedSubscription): boolean {
  return listed.endpoint === want.endpoint && listed.generation !== null
}
