import {
  createReceiver,
  type IncomingNotification,
  type ReceiverOptions,
} from '../../../src/adapters/receiver/receiver.ts'
import { systemClock } from '../../../src/runtime/clock.ts'

/** A receiver that stores notifications in memory, with its reports and the losses that it announced. */
export function givenReceiver(options: Partial<ReceiverOptions> = {}) {
  const stored: IncomingNotification[] = []
  const reported: string[] = []
  const missed: string[] = []
  const receiver = createReceiver({
    clock: systemClock,
    sources: ['127.0.0.0/8'],
    secretsOf: async () => [{ chaveSecreta: 'certa' }],
    store: async incoming => void stored.push(incoming),
    onRefused: status => void reported.push(String(status)),
    onStoreError: error => void reported.push(String(error)),
    onMiswired: ({ code, message }, evento) => void reported.push(`${evento} ${code}: ${message}`),
    onMissed: reason => void missed.push(reason),
    ...options,
  })
  const bodies = () => stored.map(each => Buffer.from(each.body))
  return { receiver, stored, bodies, reported, missed }
}
