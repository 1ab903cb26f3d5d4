import { createReceiver, type Receiver } from '../../adapters/receiver/receiver.ts'
import { LogLimiter } from '../../runtime/log-limiter.ts'
import { describeError, errorName } from '../../vocabulary/error-words.ts'
import type { LogLine } from '../../vocabulary/log-line.ts'
import type { ApiContext } from '../api-context.ts'
import type { Module } from '../module.ts'
import { routeNotification } from '../notifications/route-notification.ts'
import type { SubscriptionModule } from '../subscriptions/module.ts'
import { RefusedNotifications } from './refused-notifications.ts'

/** Creates the module of the receiver, which stores notifications and counts those that it refuses. */
export function createReceiverModule(
  context: ApiContext,
  { declarations, secrets, methods }: SubscriptionModule,
): Module<{ receiver: Receiver }> {
  const { clock, engine, options, log, tracing } = context
  const refused = new RefusedNotifications(evento => declarations.isDeclared(evento))
  /** Only declared events are logged: anyone may send any name. */
  const eventoIfDeclared = (evento: string) => declarations.isDeclared(evento) && { evento }
  const limiter = new LogLimiter(clock)
  const logLimited = (line: LogLine) =>
    limiter.log(`${line.message} ${line.error} ${line.evento}`, times => log({ ...line, ...(times > 1 && { times }) }))
  const receiver = createReceiver({
    clock,
    ...options.receiver,
    secretsOf: evento => secrets.candidatesFor(evento),
    recheck: head => secrets.recheck(head),
    async store(incoming) {
      // The portal keeps a failure record of a notification that was answered 503, and we read it.
      await engine.record(() => routeNotification(context, incoming), { isKeptElsewhere: true })
      refused.noteStored(incoming.evento)
    },
    tracing,
    onAnswered: (status, ms) => engine.emit('answered', { status, ms }),
    onRefused(status, reason, evento, detail) {
      refused.noteRefused(evento, status)
      const more = { ...(detail !== undefined && { detail }), ...eventoIfDeclared(evento) }
      logLimited({ message: `a notification was refused: ${reason}`, status, ...more })
    },
    onStoreError: error =>
      logLimited({ message: 'a notification was not stored: answered 503', error: errorName(error) }),
    // The portal keeps a failure record: recover it soon.
    onMissed: reason => void methods.subscriptions.recoverSoon(reason),
    onMiswired(error, evento) {
      refused.noteRefused(evento, error.code)
      const more = { error: error.code, detail: describeError(error), ...eventoIfDeclared(evento) }
      logLimited({ message: 'a notification reached the receiver incomplete', ...more })
    },
  })
  const isExpected = options.receiver !== undefined || (options.subscriptions ?? []).length > 0
  return {
    methods: { receiver },
    checks: { receiver: async () => (isExpected ? refused.check() : undefined) },
  }
}
