/** What a campaign need not reach: what it can never reach, which reaching it would refute, and what takes luck. */
interface Explained {
  readonly never: readonly RegExp[]
  readonly seldom: readonly RegExp[]
}

/** The names that a campaign need not reach, each below its reason. */
const explained: Explained = {
  never: [
    // The simulated service changes a status only as the contract allows.
    /^consent: .* \(consent\.conflicted\)$/,
    // The simulated service never stops listing a consent.
    /^consent: (status (\S+ -> vanished|vanished -> \S+) |(knowledge|change|end) .* \(consent\.(appeared|endWanted)\)$)/,
    // The operator tries readings again, and gives none up.
    /^consent: reading requested -> none \(consent\.readGivenUp\)$/,
    // It needs an engine that pauses between its last check of the consent and the record of it.
    /^validation: outcome (inconclusive|resolved|erased) -> declined \(validation\.withheld\)$/,
    // A client certificate needs a socket.
    /^certificate: /,
    // After the gateway refused key and secret the engine waits until they change, and here they never do.
    /^token: (requesting -> locked|locked -> requesting) /,
    // Secrets are sealed again before older keys are destroyed, so a token is stored while it is valid.
    /^token: valid -> requesting /,
    // A deletion is answered before the next request.
    /^subscription: registration registered\.(active|changing\.\w+) -> deleted\.byUs /,
    // It needs a late answer, but a paused engine that applies a plan pauses at a list.
    /^subscription: registration registered\.(changing|deleting)\.uncertain -> registered\.active \(subscription\.declined/,
    // The simulated portal always lists everything, and no deleted subscription comes back.
    /^subscription: .* \(subscription\.reappeared\)$/,
    // The simulated portal never stops listing deleted subscriptions.
    /^subscription: registration registered\.deleting\.\S+ -> deleted\.byPortal /,
    // It needs two handlers of one event, but the host has one for each.
    /^notification: stored\.(failing|parked) -> stored\.received \(notification\.(handled|skipped)\)$/,
  ],
  seldom: [
    // The simulated service never answers the contrary of the request: only who withdraws an end that left gets there.
    /^consent: change (\S+ -> contrary|contrary -> \S+) /,
    // It needs a reading concurrent with an answer, since the service never returns to an earlier status.
    /^consent: knowledge changed -> known \(consent\.confirmed\)$/,
    // It needs a person who withdraws an end before its request has left.
    /^consent: change requested -> none \(consent\.endWithdrawn\)$/,
    // It needs a denial that has not left yet when a reading shows ATIVO, or a consent that is no longer listed.
    /^consent: change (requested|lost) -> none \(consent\.changeWithheld\)$/,
  ],
}

/** Compares what was reached with all that can be reached. */
export function compareReached(
  all: readonly string[],
  reached: ReadonlySet<string>,
  { never, seldom }: Explained = explained,
) {
  const isOneOf = (names: readonly RegExp[], name: string) => names.some(each => each.test(name))
  const missing = all.filter(name => !reached.has(name))
  const unreached = missing.filter(name => !isOneOf([...never, ...seldom], name))
  const refuted = [...reached].filter(name => isOneOf(never, name))
  return { unreached, explained: missing.length - unreached.length, refuted }
}
