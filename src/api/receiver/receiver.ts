import { createReceiver, type Receiver } from '../../adapters/receiver/receiver.ts'
import { LogLimiter } from '../../runtime/log-limiter.ts'
import { describeError, errorName } from '../../vocabulary/error-words.ts'
import type { LogLine } from '../../vocabulary/log-line.ts'
import type { ApiContext } from '../api-context.ts'
import { routeNotification } from '../notifications/intake.ts'
import type { SubscriptionModule } from '../subscriptions/module.ts'
import { RefusedNotifications } from './refused-notifications.ts'

/** Makes the receiver, which stores what comes in, and the memory of what it refused. */
export function createReceiving(
  context: ApiContext,
  { desired, accepted, methods }: SubscriptionModule,
): { readonly receiver: Receiver; readonly refused: RefusedNotifications } {
  const { clock, engine, options, log, tracing } = context
  const refused = new RefusedNotifications(evento => desired.isDeclared(evento))
  /** Anybody may send any name: only declared ones are told. */
  const named = (evento: string) => desired.isDeclared(evento) && { evento }
  const seldom = new LogLimiter(clock)
  const tell = (line: LogLine) =>
    seldom.log(`${line.message} ${line.error} ${line.evento}`, times =>
      log({ ...line, ...(times > 1 && { times }) }),
    )
  const receiver = createReceiver({
    clock,
    ...options.receiver,
    secretsOf: evento => accepted.candidatesFor(evento),
    recheck: head => accepted.recheck(head),
    async store(incoming) {
      // The portal keeps what was answered 503, and sends it again.
      const kept = { isKeptElsewhere: true }
      await engine.record(() => routeNotification(context, incoming), kept)
      refused.taken(incoming.evento)
    },
    tracing,
    onAnswered: (status, ms) => engine.emit('answered', { status, ms }),
    onRefused(status, reason, evento, detail) {
      refused.refused(evento, status)
      const more = { ...(detail !== undefined && { detail }), ...named(evento) }
      tell({ message: `a notification was refused: ${reason}`, status, ...more })
    },
    onStoreError: error =>
      tell({ message: 'a notification was not stored: answered 503', error: errorName(error) }),
    // What the portal keeps as failed is to be fetched soon.
    onMissed: reason => void methods.subscriptions.recoverSoon(reason),
    onMiswired(error, evento) {
      refused.refused(evento, error.code)
      const more = { error: error.code, detail: describeError(error), ...named(evento) }
      tell({ message: 'a notification did not reach the receiver whole', ...more })
    },
  })
  return { receiver, refused }
}
