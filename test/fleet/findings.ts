/**
 * The kinds of faults: acknowledged work that is missing or differs; what was recorded or sent more often than once;
 * what did not go on; every other contradiction, such as a commit that was judged wrongly.
 */
export const kinds = ['lost', 'doubled', 'stuck', 'wrong'] as const

/** What one part of the campaign found, and how often each thing was tried or seen, by name. */
export type FleetFindings = Readonly<Record<(typeof kinds)[number], string[]>> & { counts: Record<string, number> }

export const noFindings = (): FleetFindings => ({ counts: {}, lost: [], doubled: [], stuck: [], wrong: [] })
