import type { MakeCheck } from '../check.ts'
import { RewindableMap } from '../rewindable-map.ts'

/** The time of the log never goes back, and the versions of a stream have no gap. */
export const orderlyLog: MakeCheck = (_, say) => {
  const versions = new RewindableMap<string, number>()
  const times: string[] = []
  return {
    rolledBack(to) {
      versions.rewind(to.position)
      times.splice(to.position)
    },
    recorded({ position, stream, version, at }) {
      const lastAt = times.at(-1) ?? ''
      if (at < lastAt) say(`event ${position} is of ${at}, after one of ${lastAt}`)
      times.push(at)
      const before = versions.get(stream) ?? 0
      if (version !== before + 1) say(`version ${version} of ${stream} follows ${before}`)
      versions.set(position, stream, version)
    },
  }
}
