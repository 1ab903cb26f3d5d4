import type { CheckResult } from '../health-check.ts'

const advice = {
  ADDRESS_REFUSED: 'check receiver.trustedProxies and receiver.sources, and see the log lines',
  REMOTE_ADDRESS_MISSING: 'pass { remoteAddress } to receiver.fetch',
  BODY_CONSUMED: 'put the receiver before any body parser',
  SECRETS_REFUSED: 'compare with the portal by subscriptions.plan()',
  METHOD_REFUSED: 'check what is in front of the receiver',
  BODY_TOO_LARGE: 'check what the portal sends',
} as const

type RefusalReason = keyof typeof advice

const reasonsByStatus: Readonly<Record<number, RefusalReason>> = {
  401: 'SECRETS_REFUSED',
  403: 'ADDRESS_REFUSED',
  405: 'METHOD_REFUSED',
  413: 'BODY_TOO_LARGE',
}

/** Reasons that concern one event only: an accepted notification of another event does not clear them. */
const perEventReasons: ReadonlySet<RefusalReason> = new Set(['SECRETS_REFUSED', 'BODY_TOO_LARGE'])

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
    const reason = typeof by === 'number' ? reasonsByStatus[by] : by
    if (reason === undefined || !isRefusalReason(reason) || !this.#isDeclared(evento)) return
    const counts = this.#counts.get(evento) ?? new Map<RefusalReason, number>()
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
    this.#counts.set(evento, counts)
  }

  /** Notes an accepted notification: the path to the receiver works, and everything about its event. */
  noteStored(evento: string): void {
    if (this.#counts.size === 0) return
    this.#counts.delete(evento)
    for (const [other, counts] of this.#counts) {
      for (const reason of counts.keys()) if (!perEventReasons.has(reason)) counts.delete(reason)
      if (counts.size === 0) this.#counts.delete(other)
    }
  }

  check(): CheckResult {
    if (this.#counts.size === 0)
      return { ok: true, detail: 'no declared event was refused since the last accepted notification' }
    const found = [...this.#counts].flatMap(([evento, counts]) =>
      [...counts].map(([reason, count]) => ({ reason, line: `${evento} ${count} ${reason}` })),
    )
    const todo = [...new Set(found.map(each => advice[each.reason]))].join('; ')
    const lines = found.map(each => each.line).join(', ')
    return { ok: false, detail: `refused since the last accepted notification: ${lines}: ${todo}` }
  }
}

function isRefusalReason(code: string): code is RefusalReason {
  return Object.hasOwn(advice, code)
}
