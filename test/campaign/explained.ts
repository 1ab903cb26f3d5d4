/** Why a campaign need not reach something. */
interface Explanation {
  readonly names: RegExp
  readonly reason: string
  /** It can be reached, but too rarely for every campaign. */
  readonly isSeldom?: true
}

/** What a campaign need not reach, and why. Reaching it refutes the explanation, unless it is rare. */
export const explanations: readonly Explanation[] = [
  {
    names: /^consent: .* \(consent\.conflicted\)$/,
    reason: 'the simulated service changes a status only as the contract allows',
  },
  {
    names: /^consent: (status (\S+ -> vanished|vanished -> \S+) |(knowledge|change|end) .* \(consent\.appeared\)$)/,
    reason: 'the simulated service never stops listing a consent',
  },
  {
    names: /^consent: change (\S+ -> contrary|contrary -> \S+) /,
    reason:
      'the simulated service never answers the contrary of the request: only who withdraws an end that left gets there',
    isSeldom: true,
  },
  {
    names: /^consent: knowledge changed -> known \(consent\.confirmed\)$/,
    reason: 'it needs a reading concurrent with an answer, since the service never returns to an earlier status',
    isSeldom: true,
  },
  {
    names: /^consent: change requested -> none \(consent\.endWithdrawn\)$/,
    reason: 'it needs a person who withdraws an end before its request has left',
    isSeldom: true,
  },
  {
    names: /^consent: change (requested|lost) -> none \(consent\.changeWithheld\)$/,
    reason: 'it needs a denial that has not left yet when a reading shows ATIVO, or a consent that is no longer listed',
    isSeldom: true,
  },
  {
    names: /^validation: outcome (inconclusive|resolved|erased) -> declined \(validation\.withheld\)$/,
    reason: 'it needs an engine that pauses between its last check of the consent and the record of it',
  },
  { names: /^certificate: /, reason: 'a client certificate needs a socket' },
  {
    names: /^token: (requesting -> locked|locked -> requesting) /,
    reason: 'after the gateway refused key and secret the engine waits until they change, and here they never do',
  },
  {
    names: /^token: valid -> requesting /,
    reason: 'secrets are sealed again before older keys are destroyed, so a token is stored while it is valid',
  },
  {
    names:
      /^subscription: registration (absent|declared|registering\.\w+|registered\.active|registered\.changing\.\w+) -> deleted\.byUs /,
    reason: 'a deletion is answered before the next request',
  },
  {
    names:
      /^subscription: registration (deleted\.byPortal -> deleted\.byUs|registered\.(changing|deleting)\.uncertain -> registered\.active \(subscription\.declined)/,
    reason: 'it needs a late answer, but a paused engine that applies a plan pauses at a list',
  },
  {
    names: /^subscription: .* \(subscription\.reappeared\)$/,
    reason: 'the simulated portal always lists everything, and no deleted subscription comes back',
  },
  {
    names: /^subscription: registration registered\.deleting\.\S+ -> deleted\.byPortal /,
    reason: 'the simulated portal never stops listing deleted subscriptions',
  },
  {
    names: /^notification: stored\.(failing|parked) -> stored\.received \(notification\.handled\)$/,
    reason: 'it needs two handlers of one event, but the host has one for each',
  },
]

/** The result of comparing what was reached with what can be reached. */
export interface Coverage {
  /** Neither reached nor explained. */
  readonly unreached: readonly string[]
  /** The number of names that are explained and not reached. */
  readonly explained: number
  /** Explained, but reached. */
  readonly refuted: readonly string[]
}

/** Compares what was reached with all that can be reached. */
export function compareReached(
  all: readonly string[],
  reached: ReadonlySet<string>,
  reasons: readonly Explanation[] = explanations,
): Coverage {
  const isExplained = (name: string) => reasons.some(({ names }) => names.test(name))
  const isRefuted = (name: string) => reasons.some(({ names, isSeldom }) => !isSeldom && names.test(name))
  const missing = all.filter(name => !reached.has(name))
  const unreached = missing.filter(name => !isExplained(name))
  return {
    unreached,
    explained: missing.length - unreached.length,
    refuted: [...reached].filter(isRefuted),
  }
}
