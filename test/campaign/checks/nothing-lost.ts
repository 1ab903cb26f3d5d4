import type { AcknowledgedCommand, CreateCheck } from '../check.ts'

/** How many of the newest commands are repeated at the end, and as many of all, evenly spread. */
const repeatedCount = 15

/** The statuses that may still change. */
const openStatuses = new Set(['pending', 'deferred', 'unknown'])

/** Every acknowledged command is in the log at its position, and repeating it gives the same answer. */
export const nothingLost: CreateCheck = (simulated, report) => {
  const acknowledged = new Map<string, AcknowledgedCommand>()
  const commandAt = new Map<number, string | undefined>()
  return {
    acknowledged(now) {
      const before = acknowledged.get(now.commandId)
      if (before) compare(before, now)
      acknowledged.set(now.commandId, now)
    },
    rolledBack(to) {
      for (const position of commandAt.keys()) if (position > to.position) commandAt.delete(position)
      for (const [commandId, each] of acknowledged) {
        if (each.position > to.position) acknowledged.delete(commandId)
        // The restore may have lost its end.
        else acknowledged.set(commandId, { ...each, status: 'unknown' })
      }
    },
    recorded: ({ position, commandId }) => void commandAt.set(position, commandId),
    async end() {
      for (const { commandId, position } of acknowledged.values()) {
        const found = commandAt.get(position)
        if (found !== commandId)
          report(`${commandId} was acknowledged at ${position}, but that event is of ${found ?? 'no command'}`)
      }
      const all = [...acknowledged.values()]
      const stride = Math.max(1, Math.floor(all.length / repeatedCount))
      // The CPF of an erased person is unknown, or belongs to a new subject.
      const erasureErrors = simulated.erased.size > 0 ? (['NOT_FOUND', 'INVALID_INPUT'] as const) : []
      const chosen = new Set([...all.slice(-repeatedCount), ...all.filter((_, i) => i % stride === 0)])
      for (const each of chosen) {
        const asked = await simulated.host.ask(each.again, erasureErrors)
        if (asked && 'value' in asked) compare(each, asked.value)
      }
    },
  }

  function compare(before: AcknowledgedCommand, now: Pick<AcknowledgedCommand, 'position' | 'status'>): void {
    const { commandId, position, status, isVerdict } = before
    if (now.position !== position) report(`${commandId} was at ${position}, but is at ${now.position} now`)
    if (!openStatuses.has(status) && !isVerdict && now.status !== status)
      report(`${commandId} was ${status}, but is ${now.status} now`)
  }
}
