/** What one part of the campaign tried, and what it found. */
export interface FleetFindings {
  /** How often each thing was tried or seen, by name. */
  readonly counts: Record<string, number>
  /** Acknowledged work that is missing or differs. */
  readonly lost: string[]
  /** What was recorded, or sent to a service, more often than once. */
  readonly doubled: string[]
  /** What did not go on. */
  readonly stuck: string[]
  /** Every other contradiction, such as a commit that was judged wrongly. */
  readonly wrong: string[]
}

/** The findings of a part that has not begun. */
export function noFindings(): FleetFindings {
  return { counts: {}, lost: [], doubled: [], stuck: [], wrong: [] }
}

/** The findings of all parts. */
export function addAll(parts: readonly FleetFindings[]): FleetFindings {
  const all = noFindings()
  for (const part of parts) {
    for (const [name, count] of Object.entries(part.counts)) all.counts[name] = (all.counts[name] ?? 0) + count
    for (const kind of kinds) all[kind].push(...part[kind])
  }
  return all
}

/** The kinds of faults. */
export const kinds = ['lost', 'doubled', 'stuck', 'wrong'] as const
