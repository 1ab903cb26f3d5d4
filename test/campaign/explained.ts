/** Why something need not be reached. */
interface Explanation {
  readonly names: RegExp
  readonly reason: string
  /** It can be reached, and is too seldom for every campaign to do so. */
  readonly isSeldom?: true
}

/** What no campaign has to reach, and why: each is a claim about the simulated world, and what was reached refutes it. */
export const explained: readonly Explanation[] = [
  {
    names: /^consent: .* \(consent\.conflicted\)$/,
    reason: 'the simulated service moves a consent only as the table of the contract has it',
  },
  {
    names: /^consent: (\S+ -> vanished|vanished\S* -> \S+ \(consent\.appeared)/,
    reason: 'the simulated service lists every consent for ever',
  },
  {
    names:
      /^consent: ((NEGADO|REVOGADO|EXPIRADO)\+known -> \S+ \(consent\.changeSeen|(\w+)\+changed -> \3\+known \(consent\.confirmed)\)$/,
    reason: 'where no status of the service comes back, it takes a reading that an answer has crossed',
    isSeldom: true,
  },
  {
    names: /^consent: \w+\+(changing|uncertain) -> (NEGADO|REVOGADO|EXPIRADO)\+\1 /,
    reason: 'the simulated service opens no consent again, so that every end is the end of our change',
  },
  {
    names: /^consent: (NEGADO|REVOGADO|EXPIRADO)\+uncertain -> \1\+known /,
    reason: 'no answer of the simulated service is contrary to what it was asked for',
  },
  {
    names: /^validation: (inconclusive|resolved|erased)\S* -> declined \(validation\.withheld\)$/,
    reason: 'it takes an engine that stands still between its last look at the consent and the record of it',
  },
  { names: /^certificate: /, reason: 'a client certificate needs a socket' },
  {
    names: /^token: (requesting -> locked|locked -> requesting) /,
    reason: 'a gateway that refuses key and secret is not asked again, and here they never change',
  },
  {
    names: /^token: valid -> requesting /,
    reason:
      'secrets are sealed anew before older keys end, so that a token is kept for as long as it is valid',
  },
  {
    names: /^subscription: (absent|declared|registering\.\w+|active\.\w+|changing\.\w+) -> deleted\.byUs /,
    reason: 'a deletion is answered before anything else is asked for',
  },
  {
    names:
      /^subscription: (deleted\.byPortal -> deleted\.byUs|(changing|deleting)\.uncertain -> active\.healthy \(subscription\.declined)/,
    reason: 'it takes an answer that comes late, and an engine that applies a plan stands still at a list',
  },
  {
    names: /^subscription: .* \(subscription\.reappeared\)$/,
    reason: 'the simulated portal lists all there is, and nothing comes back that was deleted',
  },
  {
    names: /^subscription: deleting\.\w+ -> deleted\.byPortal /,
    reason: 'the simulated portal lists for ever what was deleted',
  },
  {
    names: /^notification: (failing|parked) -> received \(notification\.handled\)$/,
    reason: 'it takes two handlers of one event, and the host has one for each',
  },
  {
    names: /^portal: unread -> read \(portal\.failuresListed\)$/,
    reason: 'every plan begins with a list of the subscriptions',
  },
]

/** What was reached of all that can be, compared with what is explained. */
export interface Compared {
  /** Neither reached nor explained. */
  readonly unreached: readonly string[]
  /** How many are not reached, and explained. */
  readonly explained: number
  /** Explained, and reached all the same. */
  readonly refuted: readonly string[]
}

/** Compares what was reached with all that can be. */
export function compareReached(
  all: readonly string[],
  reached: ReadonlySet<string>,
  reasons: readonly Explanation[] = explained,
): Compared {
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
