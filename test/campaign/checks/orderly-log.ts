import type { CreateCheck } from '../check.ts'
import { RewindableMap } from '../rewindable-map.ts'

/** The times of the log never decrease, and the versions of a stream have no gap. */
export const orderlyLog: CreateCheck = (_, report) => {
  const versions = new RewindableMap<string, number>()
  const times: string[] = []
  return {
    rolledBack(to) {
      versions.rewind(to.position)
      times.splice(to.position)
    },
    recorded({ position, stream, version, at }) {
      const lastAt = times.at(-1) ?? ''
      if (at < lastAt) report(`event ${position} has the time ${at}, after an event of ${lastAt}`)
      times.push(at)
      const before = versions.get(stream) ?? 0
      if (version !== before + 1) report(`version ${version} of ${stream} follows ${before}`)
      versions.set(position, stream, version)
    },
  }
}
