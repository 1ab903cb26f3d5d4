import { createReceiver, type Receiver } from '../../adapters/receiver/receiver.ts'
import { LogLimiter } from '../../runtime/log-limiter.ts'
import { describeError, errorName } from '../../vocabulary/error-words.ts'
import type { LogLine } from '../../vocabulary/log-line.ts'
import { followerName } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import type { CheckResult } from '../health-check.ts'
import type { Module } from '../module.ts'
import { routeNotification } from '../notifications/route-notification.ts'
import type { SubscriptionModule } from '../subscriptions/module.ts'

export type { Receiver } from '../../adapters/receiver/receiver.ts'

/** Creates the module of the receiver, which stores notifications and counts those that it refuses. */
export function createReceiverModule(
  context: ApiContext,
  { declarations, secrets, methods }: SubscriptionModule,
): Module<{ receiver: Receiver }> {
  const { clock, engine, options, log, tracing } = context
  /** Anyone may send any name: only events that are declared, or have a handler, are counted and logged. */
  const isKnown = (evento: string) =>
    declarations.isDeclared(evento) || context.followers.isRegistered(followerName({ evento, name: '' }))
  const refused = countRefusals(isKnown)
  const eventoIfKnown = (evento: string) => isKnown(evento) && { evento }
  const limiter = new LogLimiter(clock)
  const logLimited = (line: LogLine) =>
    limiter.log(`${line.message} ${line.error} ${line.evento}`, times => log({ ...line, ...(times > 1 && { times }) }))
  const receiver = createReceiver({
    clock,
    ...options.receiver,
    secretsOf: evento => secrets.candidatesFor(evento),
    recheck: head => secrets.recheck(head),
    isDeclared: evento => declarations.isDeclared(evento),
    onQuotaSpent(evento) {
      refused.noteRefused(evento, 'QUOTA_SPENT')
      const message = 'a notification was not stored: too much was received that shows no secret'
      logLimited({ level: 'warn', message, error: 'QUOTA_SPENT', ...eventoIfKnown(evento) })
    },
    async store(incoming) {
      // The portal keeps a failure record of a notification that was answered 503, and we read it.
      await engine.record(() => routeNotification(context, incoming), { isKeptElsewhere: true })
      refused.noteStored(incoming.evento)
    },
    tracing,
    onAnswered: (status, ms) => engine.emit('answered', { status, ms }),
    onRefused(status, reason, evento, detail) {
      refused.noteRefused(evento, status)
      const more = { ...(detail !== undefined && { detail }), ...eventoIfKnown(evento) }
      logLimited({ level: 'warn', message: `a notification was refused: ${reason}`, status, ...more })
    },
    onStoreError: error =>
      logLimited({ level: 'error', message: 'a notification was not stored: answered 503', error: errorName(error) }),
    // The portal keeps a failure record: recover it soon.
    onMissed: reason => void methods.subscriptions.recoverSoon(reason),
    onMiswired(error, evento) {
      refused.noteRefused(evento, error.code)
      const more = { error: error.code, detail: describeError(error), ...eventoIfKnown(evento) }
      logLimited({ level: 'error', message: 'a notification reached the receiver incomplete', ...more })
    },
  })
  const isExpected = options.receiver !== undefined || (options.subscriptions ?? []).length > 0
  return { methods: { receiver }, checks: { receiver: async () => (isExpected ? refused.check() : undefined) } }
}

interface RefusalReason {
  readonly name: string
  readonly advice: string
  /** It concerns one event only: an accepted notification of another event does not clear it. */
  readonly isPerEvent?: true
}

/** The reasons of refusals, by the status of the answer or the code of an error. */
const reasons: Readonly<Record<number | string, RefusalReason>> = {
  401: { name: 'SECRETS_REFUSED', advice: 'compare with the portal by subscriptions.plan()', isPerEvent: true },
  403: { name: 'ADDRESS_REFUSED', advice: 'check receiver.trustedProxies and receiver.sources, and see the log lines' },
  405: { name: 'METHOD_REFUSED', advice: 'check what is in front of the receiver' },
  413: {
    name: 'BODY_TOO_LARGE',
    advice: 'check what the portal sends, or raise receiver.bodyBytesMax',
    isPerEvent: true,
  },
  QUOTA_SPENT: {
    name: 'QUOTA_SPENT',
    advice: 'give the subscription a chaveSecreta, or raise receiver.unprovenBytesPerHourMax',
    isPerEvent: true,
  },
  REMOTE_ADDRESS_MISSING: { name: 'REMOTE_ADDRESS_MISSING', advice: 'pass { remoteAddress } to receiver.fetch' },
  BODY_CONSUMED: { name: 'BODY_CONSUMED', advice: 'put the receiver before any body parser' },
}

/** Refused notifications of a known event since the last accepted one: event and reason, as anyone may send them. */
function countRefusals(isKnown: (evento: string) => boolean) {
  let counted: { readonly evento: string; readonly reason: RefusalReason; count: number }[] = []
  return {
    /** Notes a refused notification, by the status of its answer or the code of an error. */
    noteRefused(evento: string, by: number | string): void {
      const reason = reasons[by]
      if (!reason || !isKnown(evento)) return
      const known = counted.find(each => each.evento === evento && each.reason === reason)
      if (known) known.count += 1
      else counted.push({ evento, reason, count: 1 })
    },
    /** Notes an accepted notification: the path to the receiver works, and everything about its event. */
    noteStored(evento: string): void {
      if (counted.length > 0) counted = counted.filter(each => each.evento !== evento && each.reason.isPerEvent)
    },
    check(): CheckResult {
      if (counted.length === 0)
        return { ok: true, detail: 'no declared event was refused since the last accepted notification' }
      const todo = [...new Set(counted.map(each => each.reason.advice))].join('; ')
      const lines = counted.map(({ evento, count, reason }) => `${evento} ${count} ${reason.name}`).join(', ')
      return { ok: false, detail: `refused since the last accepted notification: ${lines}: ${todo}` }
    },
  }
}
