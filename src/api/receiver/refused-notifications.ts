import type { CheckResult } from '../health-check.ts'

interface RefusalReason {
  readonly name: string
  readonly advice: string
  /** It concerns one event only: an accepted notification of another event does not clear it. */
  readonly isPerEvent?: true
}

/** The reasons of refusals, by the status of the answer or the code of an error. */
const reasons: Readonly<Record<number | string, RefusalReason>> = {
  401: { name: 'SECRETS_REFUSED', advice: 'compare with the portal by subscriptions.plan()', isPerEvent: true },
  403: {
    name: 'ADDRESS_REFUSED',
    advice: 'check receiver.trustedProxies and receiver.sources, and see the log lines',
  },
  405: { name: 'METHOD_REFUSED', advice: 'check what is in front of the receiver' },
  413: { name: 'BODY_TOO_LARGE', advice: 'check what the portal sends', isPerEvent: true },
  REMOTE_ADDRESS_MISSING: { name: 'REMOTE_ADDRESS_MISSING', advice: 'pass { remoteAddress } to receiver.fetch' },
  BODY_CONSUMED: { name: 'BODY_CONSUMED', advice: 'put the receiver before any body parser' },
}

/**
 * Counts the notifications of declared events that this process refused since the last one that it accepted. Anyone may
 * have sent them, so only the event and the reason are kept.
 */
export class RefusedNotifications {
  readonly #counts = new Map<string, Map<RefusalReason, number>>()
  readonly #isDeclared: (evento: string) => boolean

  constructor(isDeclared: (evento: string) => boolean) {
    this.#isDeclared = isDeclared
  }

  /** Notes a refused notification, by the status of its answer or the code of an error. */
  noteRefused(evento: string, by: number | string): void {
    const reason = reasons[by]
    if (!reason || !this.#isDeclared(evento)) return
    const counts = this.#counts.get(evento) ?? new Map<RefusalReason, number>()
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
    this.#counts.set(evento, counts)
  }

  /** Notes an accepted notification: the path to the receiver works, and everything about its event. */
  noteStored(evento: string): void {
    if (this.#counts.size === 0) return
    this.#counts.delete(evento)
    for (const [other, counts] of this.#counts) {
      for (const reason of counts.keys()) if (!reason.isPerEvent) counts.delete(reason)
      if (counts.size === 0) this.#counts.delete(other)
    }
  }

  check(): CheckResult {
    if (this.#counts.size === 0)
      return { ok: true, detail: 'no declared event was refused since the last accepted notification' }
    const found = [...this.#counts].flatMap(([evento, counts]) =>
      [...counts].map(([reason, count]) => ({ reason, line: `${evento} ${count} ${reason.name}` })),
    )
    const todo = [...new Set(found.map(each => each.reason.advice))].join('; ')
    const lines = found.map(each => each.line).join(', ')
    return { ok: false, detail: `refused since the last accepted notification: ${lines}: ${todo}` }
  }
}
