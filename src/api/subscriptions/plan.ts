import { hash } from 'node:crypto'
import { canonicalJson } from '../../proof/canonical-json.ts'
import { printable } from '../../vocabulary/printable.ts'
import type { ListedAtPortal } from '../events.ts'

/** A change that one subscription needs, and why. */
export interface PlannedChange {
  readonly action: 'create' | 'adopt' | 'change' | 'delete' | 'leave'
  readonly evento: string
  readonly endpoint: string
  readonly reason: string
  /** The portal's id of the subscription; null when the portal has none. */
  readonly id: number | null
  /** A subscription that is not ours has the event: it is left alone, unless `takeOver` is set. */
  readonly isTaken: boolean
}

/** The changes that make the portal match the declared subscriptions. It contains no secret. */
export interface Plan {
  /** Identifies the plan: `apply` refuses it once the portal or the options have changed. */
  readonly hash: string
  readonly changes: readonly PlannedChange[]
  /** The portal's ids of rows that cannot be read; null when the id cannot be read either. */
  readonly unreadable: readonly (number | null)[]
  toString(): string
}

export interface WantedSubscription {
  readonly evento: string
  readonly endpoint: string
  readonly secrets: string
  readonly generation: number
  /** The portal deleted it, and it is not to be created again. */
  readonly isGivenUp: boolean
}

/**
 * Compares the declared subscriptions with the portal's list. `ours` has our event by the portal's id: the portal may
 * show another event, since anyone can change it there.
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
      const reason = 'its row at the portal cannot be read'
      return { action: 'change', evento, endpoint, reason, id: hidden, isTaken: false }
    }
    return { evento, endpoint, id: own?.remoteId ?? null, isTaken: false, ...compareSubscription(want, own, ours) }
  })
  for (const each of active.filter(each => !seen.has(each))) {
    const { remoteId: id, endpoint } = each
    const isDropped = ours.has(id)
    const evento = ours.get(id) ?? each.evento
    const isSecond = wanted.some(want => want.evento === each.evento && isAlike(each, want))
    const notOurs = isSecond ? 'a second one with our secrets delivers all again: delete it there' : 'it is not ours'
    const reason = isDropped ? 'it is no longer declared' : notOurs
    changes.push({ action: isDropped ? 'delete' : 'leave', evento, endpoint, reason, id, isTaken: false })
  }
  const state = canonicalJson({
    changes: [...changes],
    // Without the last success: a successful delivery must not change the hash.
    listed: active.map(({ lastSuccessAt: _, ...each }) => each),
    unreadable: [...unreadable],
    wanted: [...wanted],
  })
  const lines = [
    ...changes.map(({ action, isTaken, evento, endpoint, reason }) =>
      printable(`${isTaken ? 'taken' : action} ${evento} ${endpoint} (${reason})`),
    ),
    ...unreadable.map(id => `unreadable ${id ?? 'without an id'} (look at its row in the portal)`),
  ]
  return { hash: hash('sha256', state, 'hex'), changes, unreadable, toString: () => lines.join('\n') }
}

function compareSubscription(
  want: WantedSubscription,
  found: ListedAtPortal | undefined,
  ours: ReadonlyMap<number, string>,
): Pick<PlannedChange, 'action' | 'reason'> & { isTaken?: boolean } {
  if (!found)
    return want.isGivenUp
      ? { action: 'leave', reason: 'the portal deleted it, and recreate is announce' }
      : { action: 'create', reason: 'the portal does not have it' }
  const isOurs = ours.has(found.remoteId)
  if (!isOurs && isAlike(found, want)) return { action: 'adopt', reason: 'the portal has the same one' }
  if (!isOurs) return { action: 'leave', reason: 'a foreign subscription has the event', isTaken: true }
  const differing = [
    ...(found.evento === want.evento ? [] : ['another event']),
    ...(found.endpoint === want.endpoint ? [] : ['another endpoint']),
    // A later generation stays: the earlier secret may have leaked.
    ...(found.generation !== null && found.generation >= want.generation ? [] : ['other secrets']),
  ]
  if (differing.length === 0) return { action: 'leave', reason: 'it is as declared' }
  return { action: 'change', reason: `the portal has ${differing.join(', ')}` }
}

function isAlike(listed: ListedAtPortal, want: WantedSubscription): boolean {
  return listed.endpoint === want.endpoint && listed.generation !== null
}
