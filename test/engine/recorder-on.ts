import { Decisions } from '../../src/engine/recording/decisions.ts'
import { Recorder } from '../../src/engine/recording/recorder.ts'
import type { Machine } from '../../src/machines/definition/machine.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Store } from '../../src/store/store.ts'

export function recorderOn(store: Store, machines: readonly Machine[] = [], clock = systemClock): Recorder {
  const ignore = () => undefined
  const waiting = { closing: new AbortController().signal, onTrouble: ignore }
  return new Recorder(store, clock, new Decisions(store, machines), ignore, waiting)
}

export const asCommand = (n: number) => ({
  isCommand: true as const,
  receipt: { commandId: `c${n}`, digest: new Uint8Array([1]) },
})
