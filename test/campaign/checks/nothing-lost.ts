import type { Acknowledged, MakeCheck } from '../check.ts'

/** How many of the newest commands are asked again in the end; of the older ones as many, spread. */
const askedAgain = 15

/** Where an outcome may still go from: what was answered for good stays, what was open ends. */
const open = new Set(['pending', 'deferred', 'unknown'])

/** What was acknowledged is in the log, under the same position, and a command that is sent again is answered the same. */
export const nothingLost: MakeCheck = (box, say) => {
  const acknowledged = new Map<string, Acknowledged>()
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
        // How it ended may be what was lost.
        else acknowledged.set(commandId, { ...each, status: 'unknown' })
      }
    },
    recorded: ({ position, commandId }) => void commandAt.set(position, commandId),
    async end() {
      for (const { commandId, position } of acknowledged.values()) {
        const found = commandAt.get(position)
        if (found !== commandId)
          say(`${commandId} was acknowledged at ${position}, where there is ${found ?? 'another'}`)
      }
      const all = [...acknowledged.values()]
      const stride = Math.max(1, Math.floor(all.length / askedAgain))
      // Nobody has the CPF of who was erased, or somebody who was met since.
      const gone = box.erased.size > 0 ? (['NOT_FOUND', 'INVALID_INPUT'] as const) : []
      const chosen = new Set([...all.slice(-askedAgain), ...all.filter((_, i) => i % stride === 0)])
      for (const each of chosen) {
        const asked = await box.host.ask(each.again, gone)
        if (asked && 'value' in asked) compare(each, asked.value)
      }
    },
  }

  function compare(before: Acknowledged, now: Pick<Acknowledged, 'position' | 'status'>): void {
    const { commandId, position, status, isVerdict } = before
    if (now.position !== position) say(`${commandId} stood at ${position}, and stands at ${now.position} now`)
    if (!open.has(status) && !isVerdict && now.status !== status)
      say(`${commandId} was ${status}, and is ${now.status} now`)
  }
}
