import type { CreateCheck } from '../check.ts'
import { followedTypes } from '../host.ts'

/** A follower is called for every event of its types, in order. */
export const followerOrder: CreateCheck = (simulated, report) => {
  const done = new Map<string, Set<number>>()
  const types = new Map([['livro', new Set<string>(followedTypes)]])
  const last = new Map<string, number>()
  const recorded: { readonly position: number; readonly type: string }[] = []
  return {
    followed(name, { position }, isDone) {
      const own = done.get(name) ?? new Set<number>()
      done.set(name, own)
      const before = last.get(name) ?? 0
      // Only the last event may be repeated.
      if (position < before) report(`${name} was called for ${position} after ${before}`)
      if (position > before && before > 0 && !own.has(before))
        report(`${name} continued at ${position} before ${before} was done`)
      last.set(name, position)
      if (isDone) own.add(position)
    },
    rolledBack(to) {
      recorded.splice(recorded.findLastIndex(({ position }) => position <= to.position) + 1)
      last.clear()
      for (const own of done.values()) for (const each of own) if (each > to.position) own.delete(each)
    },
    recorded: ({ position, type }) => void recorded.push({ position, type }),
    async end() {
      for (const [name, wanted] of types) {
        const own = done.get(name)
        const missed = recorded.filter(each => wanted.has(each.type) && !own?.has(each.position))
        for (const { position, type } of missed) report(`${name} was never called for ${type} at ${position}`)
      }
      if (recorded.length === 0) simulated.runRecord.fail('campaign', 'the log was never read')
    },
  }
}
