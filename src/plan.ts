import { hash } from 'node:crypto'
import { canonicalJson } from './proof/canonical-json.ts'

/** What one subscription needs, and why. */
export interface Change {
  readonly action: 'create' | 'adopt' | 'change' | 'delete' | 'leave'
  readonly evento: string
  readonly endpoint: string
  readonly because: string
}

/** What it takes to bring the portal in step with the declared subscriptions. Shows no secret. */
export interface Plan {
  /** Stands for this very plan: `apply` refuses it once the portal or the options have changed. */
  readonly hash: string
  readonly changes: readonly Change[]
  toString(): string
}

/** A subscription as the portal lists it, its secrets turned into a keyed digest. */
export type ListedAtPortal = {
  readonly remoteId: number
  readonly evento: string
  readonly endpoint: string
  readonly secrets: string
  readonly isDeleted: boolean
}

/** A subscription as the host wants it. */
export interface Wanted {
  readonly evento: string
  readonly endpoint: string
  readonly secrets: string
}

/** Compares what is wanted with what the portal lists. `ours` holds the portal's ids of those we made. */
export function makePlan(
  wanted: readonly Wanted[],
  listed: readonly ListedAtPortal[],
  ours: ReadonlySet<number>,
): Plan {
  const active = listed.filter(each => !each.isDeleted)
  const changes: Change[] = wanted.map(want => {
    const found = active.filter(each => each.evento === want.evento)
    const own =
      found.find(each => ours.has(each.remoteId)) ?? found.find(each => isSame(each, want)) ?? found[0]
    return { ...compare(want, own, ours), evento: want.evento, endpoint: want.endpoint }
  })
  const eventos = new Set(wanted.map(want => want.evento))
  for (const { remoteId, evento, endpoint } of active.filter(each => !eventos.has(each.evento))) {
    const isOurs = ours.has(remoteId)
    const because = isOurs ? 'it is no longer declared' : 'it is not ours'
    changes.push({ action: isOurs ? 'delete' : 'leave', evento, endpoint, because })
  }
  const state = canonicalJson({ changes: [...changes], listed: [...active], wanted: [...wanted] })
  return {
    hash: hash('sha256', state, 'hex'),
    changes,
    toString: () =>
      changes.map(each => `${each.action} ${each.evento} ${each.endpoint} (${each.because})`).join('\n'),
  }
}

function compare(
  want: Wanted,
  found: ListedAtPortal | undefined,
  ours: ReadonlySet<number>,
): Pick<Change, 'action' | 'because'> {
  if (!found) return { action: 'create', because: 'the portal has none' }
  if (isSame(found, want)) {
    if (ours.has(found.remoteId)) return { action: 'leave', because: 'it is as declared' }
    return { action: 'adopt', because: 'the portal has the same one' }
  }
  if (!ours.has(found.remoteId))
    return { action: 'leave', because: 'the event is taken by one that is not ours' }
  const because = found.endpoint === want.endpoint ? 'its secrets differ' : 'its endpoint differs'
  return { action: 'change', because }
}

function isSame(listed: ListedAtPortal, want: Wanted): boolean {
  return listed.endpoint === want.endpoint && listed.secrets === want.secrets
}
