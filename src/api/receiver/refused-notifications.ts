import type { CheckResult } from '../check.ts'

/** Why a notification was not taken, and what a person does about it. */
const advice = {
  ADDRESS_REFUSED: 'see receiver.trustedProxies and receiver.sources, and what the logger is told',
  REMOTE_ADDRESS_MISSING: 'pass { remoteAddress } to receiver.fetch',
  BODY_CONSUMED: 'put the receiver before any body parser',
  SECRETS_REFUSED: 'see subscriptions.plan() for what the portal has',
  METHOD_REFUSED: 'see what stands in front of the receiver',
  BODY_TOO_LARGE: 'see what the portal sends',
} as const

/** Why a declared event was not taken. */
type RefusalReason = keyof typeof advice

const reasons: Readonly<Record<number, RefusalReason>> = {
  401: 'SECRETS_REFUSED',
  403: 'ADDRESS_REFUSED',
  405: 'METHOD_REFUSED',
  413: 'BODY_TOO_LARGE',
}

/** Reasons that concern one event only: a notification of another event that was taken does not end them. */
const ofOneEvent: ReadonlySet<RefusalReason> = new Set(['SECRETS_REFUSED', 'BODY_TOO_LARGE'])

/**
 * Counts the notifications of declared events that this process did not take, since the last one that it took. Anybody
 * may have sent them: only the event and the reason are kept.
 */
export class RefusedNotifications {
  readonly #counts = new Map<string, Map<RefusalReason, number>>()
  readonly #isDeclared: (evento: string) => boolean

  constructor(isDeclared: (evento: string) => boolean) {
    this.#isDeclared = isDeclared
  }

  /** Notes a refused one, by the status of its answer or the code of an error. */
  refused(evento: string, by: number | string): void {
    const reason = typeof by === 'number' ? reasons[by] : by
    if (reason === undefined || !isReason(reason) || !this.#isDeclared(evento)) return
    const counts = this.#counts.get(evento) ?? new Map<RefusalReason, number>()
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
    this.#counts.set(evento, counts)
  }

  /** Notes one that was taken: the way to here works, and so does everything about its event. */
  taken(evento: string): void {
    if (this.#counts.size === 0) return
    this.#counts.delete(evento)
    for (const [other, counts] of this.#counts) {
      for (const reason of counts.keys()) if (!ofOneEvent.has(reason)) counts.delete(reason)
      if (counts.size === 0) this.#counts.delete(other)
    }
  }

  /** How the receiver is, for `health()`. */
  look(): CheckResult {
    if (this.#counts.size === 0)
      return { ok: true, detail: 'no declared event was refused since one was taken' }
    const found = [...this.#counts].flatMap(([evento, counts]) =>
      [...counts].map(([reason, count]) => ({ reason, told: `${evento} ${count} ${reason}` })),
    )
    const todo = [...new Set(found.map(each => advice[each.reason]))]
    const told = found.map(each => each.told).join(', ')
    return { ok: false, detail: `refused since one was taken: ${told}: ${todo.join('; ')}` }
  }
}

function isReason(code: string): code is RefusalReason {
  return Object.hasOwn(advice, code)
}
