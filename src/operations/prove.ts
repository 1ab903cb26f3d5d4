import { type EventSelector, proveEvent } from '../store/checkpoints/prove.ts'
import { type OpenedWith, withStore } from './with-store.ts'

/**
 * Proves that an event is in a log, which may be in use: a C2SP tlog-proof file, up to a checkpoint that it signs now.
 *
 * @throws {AverbaError} `NOT_FOUND`, and as `openAverba`
 */
export function proveRecorded(options: OpenedWith & { event: EventSelector }): Promise<string> {
  return withStore(options, async store => {
    await store.checkpoint()
    return store.reader.read(() => proveEvent(options.event))
  })
}
