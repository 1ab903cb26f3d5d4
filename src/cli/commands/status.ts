import { countCalls, expiringDays, type Need, type Overview, readOverview } from '../../console/overview.ts'
import { defineCommand, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { lookInto, sourceOptions } from '../load-config.ts'
import { formatPair, formatUntil, type Line } from '../output.ts'
import type { Terminal } from '../terminal.ts'

export const statusCommand = defineCommand({
  usage: 'status',
  description: 'Show at a glance what is owed, failing, parked, expiring or about to be deleted, and what to do.',
  options: sourceOptions,
  example: 'averba status --store averba.sqlite',
  notes:
    'No service is contacted, and the log may be in use.\n' +
    'Exit codes: 0 nothing needs a person, 2 something does, 1 the log cannot be read.',
  async run(terminal, source) {
    const overview = await lookInto(terminal, source, readOverview)
    return {
      result: overview,
      lines: formatOverview(terminal, overview),
      code: overview.needs.length === 0 ? exitCodes.done : exitCodes.attention,
    }
  },
})

const commandOf: Readonly<Record<string, string>> = {
  effects: 'averba effects list',
  followers: 'averba followers list',
  notifications: 'averba notifications list --state parked',
  subscriptions: 'averba subscriptions list',
  consents: 'averba consents list --ends',
  undecided: 'averba validations list --state inconclusive',
  deleted: 'averba plan',
}

function* formatOverview(terminal: Terminal, overview: Overview): Iterable<string | Line> {
  const { say } = terminal
  const { figures, health, expiring, subscriptions, needs } = overview
  const { notifications, followers } = figures
  const failing = subscriptions.filter(each => each.failingSince !== null)
  const calls = [...countCalls(figures.effects)].map(([state, count]) => `${count} ${state}`)
  yield formatPair(say`log`, say.count(figures.position, 'event'))
  yield formatPair(say`calls`, calls.length === 0 ? say`none open` : calls.join(', '))
  yield formatPair(say`consents`, say`${expiring} expire within ${expiringDays} days`)
  yield formatPair(say`subscriptions`, say`${subscriptions.length}, ${failing.length} with failing deliveries`)
  for (const { evento, deletionAt } of failing)
    if (deletionAt !== null) yield formatPair('', say`${evento}: the portal deletes it ${formatUntil(say, deletionAt)}`)
  const [parked, retried] = [notifications?.parked ?? '?', notifications?.failing ?? '?']
  yield formatPair(say`notifications`, say`${parked} parked, ${retried} to be retried`)
  const behind = say.count(followers.behindMax, 'event')
  yield formatPair(say`followers`, say`${followers.count}, ${followers.parked} parked, at most ${behind} behind`)
  for (const { name, daysLeft } of health.checks)
    if (daysLeft !== undefined) yield formatPair(say.text(name), say`${say.count(daysLeft, 'day')} left`)
  if (needs.length === 0) return yield { text: say`Nothing needs a person.`, style: 'green' }
  for (const need of needs) yield { text: formatNeed(say, need), style: 'red' }
}

function formatNeed(say: Say, { what, detail }: Need): string {
  const command = say.commands(commandOf[what] ?? 'averba doctor')
  if (what === 'deleted') return say`WRONG subscriptions: the portal deleted ${detail}. See: ${command}`
  if (what !== 'undecided') {
    const found = say.message(detail)
    const isSaid = found.includes(commandOf[what] ? command : 'averba ')
    return isSaid ? say`WRONG ${what}: ${found}` : say`WRONG ${what}: ${found}. See: ${command}`
  }
  const count = say.count(Number(detail), 'validation')
  return say`WRONG validations: ${count} may have been done and paid. See: ${command}`
}
