import type { MakeCheck } from '../check.ts'

/** The time of the log never goes back, and the versions of a stream have no gap. */
export const orderlyLog: MakeCheck = (_, say) => {
  const versions = new Map<string, number>()
  let lastAt = ''
  return {
    rolledBack() {
      versions.clear()
      lastAt = ''
    },
    recorded({ position, stream, version, at }) {
      if (at < lastAt) say(`event ${position} is of ${at}, after one of ${lastAt}`)
      lastAt = at
      const before = versions.get(stream) ?? 0
      if (version !== before + 1) say(`version ${version} of ${stream} follows ${before}`)
      versions.set(stream, version)
    },
  }
}
