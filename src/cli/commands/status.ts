import { type Averba, type Call, type Figures, type Health, type Subscription, systemClock } from '../../index.ts'
import { dayMs, toInstant } from '../../vocabulary/instant.ts'
import { defineCommand, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { sourceOptions, withLog } from '../load-config.ts'
import { formatPair, formatUntil, type Line } from '../output.ts'
import type { Terminal } from '../terminal.ts'

const expiringDays = 7

/** The state of a log at a glance. */
interface Status {
  readonly figures: Figures
  readonly health: Health
  /** Consents that expire within a week. */
  readonly expiring: number
  readonly subscriptions: readonly Subscription[]
  /** Validations that may have been paid, for a person to find out. */
  readonly undecided: readonly Call[]
}

/** The command `averba status`. */
export const statusCommand = defineCommand({
  usage: 'status',
  description: 'Show at a glance what is owed, failing, parked, expiring or about to be deleted, and what to do.',
  options: { ...sourceOptions, '--json': 'print one JSON object' },
  example: 'averba status --store averba.sqlite',
  notes:
    'No service is contacted, and the log may be in use.\n' +
    'Exit codes: 0 nothing needs a person, 2 something does, 1 the log cannot be read.',
  async run(terminal, source) {
    const status = await withLog(terminal, source, readStatus)
    const needs = needsOf(terminal.say, status)
    const { figures, health, expiring, subscriptions } = status
    return {
      result: { figures, health, expiring, subscriptions, needs },
      lines: formatStatus(terminal, status, needs),
      code: needs.length === 0 ? exitCodes.done : exitCodes.attention,
    }
  },
})

async function readStatus(averba: Averba): Promise<Status> {
  const [figures, health] = [await averba.figures(), await averba.health()]
  const until = toInstant(systemClock.now() + expiringDays * dayMs)
  const counted = averba.views.selectFrom('consents').where('lapses_at', '<=', until)
  const [row] = await counted.select(({ fn }) => fn.countAll<number>().as('count')).execute()
  const unknown = await averba.effects.list({ state: 'unknown' })
  return {
    ...{ figures, health, expiring: Number(row?.count ?? 0) },
    subscriptions: (await averba.subscriptions.list({ inactive: true })).filter(({ deletedBy }) => deletedBy !== 'us'),
    undecided: unknown.filter(({ waiting }) => waiting?.for === 'person'),
  }
}

/** Something that a person has to see to, and the command that shows it. */
interface Need {
  readonly what: string
  readonly why: string
  readonly command: string
}

const commandOf: Readonly<Record<string, string>> = {
  effects: 'averba effects list',
  followers: 'averba followers list',
  notifications: 'averba notifications list --state parked',
  subscriptions: 'averba subscriptions list',
  consents: 'averba consents list --ends',
}

function needsOf(say: Say, { health, undecided, subscriptions }: Status): Need[] {
  const failed = health.checks.filter(({ ok }) => !ok)
  return [
    ...failed.map(({ name, detail }) => ({ what: name, why: detail, command: commandOf[name] ?? 'averba doctor' })),
    // Also without a configuration, which the check of subscriptions needs.
    ...subscriptions
      .filter(
        ({ deletedBy, evento }) => deletedBy === 'portal' && !failed.some(({ detail }) => detail.includes(evento)),
      )
      .map(({ evento }) => ({ what: 'subscriptions', why: say`the portal deleted ${evento}`, command: 'averba plan' })),
    ...(undecided.length === 0
      ? []
      : [
          {
            what: 'validations',
            why: say`${say.count(undecided.length, 'validation')} may have been done and paid`,
            command: 'averba validations list --state inconclusive',
          },
        ]),
  ]
}

function* formatStatus(terminal: Terminal, status: Status, needs: readonly Need[]): Iterable<string | Line> {
  const { say } = terminal
  const { figures, health, expiring, subscriptions } = status
  const { notifications, followers } = figures
  const failing = subscriptions.filter(each => each.failingSince !== null)
  yield formatPair(say`log`, say.count(figures.position, 'event'))
  yield formatPair(say`calls`, describeCalls(say, figures))
  yield formatPair(say`consents`, say`${expiring} expire within ${expiringDays} days`)
  yield formatPair(say`subscriptions`, say`${subscriptions.length}, ${failing.length} with failing deliveries`)
  for (const { evento, deletionAt } of failing) {
    if (deletionAt === null) continue
    const until = formatUntil(say, deletionAt)
    yield formatPair('', say`${evento}: the portal deletes it ${until}`)
  }
  const [parked, retried] = [notifications?.parked ?? '?', notifications?.failing ?? '?']
  yield formatPair(say`notifications`, say`${parked} parked, ${retried} to be retried`)
  const behind = say.count(followers.behindMax, 'event')
  yield formatPair(say`followers`, say`${followers.count}, ${followers.parked} parked, at most ${behind} behind`)
  for (const { name, daysLeft } of health.checks)
    if (daysLeft !== undefined) yield formatPair(name, say`${say.count(daysLeft, 'day')} left`)
  if (needs.length === 0) return yield { text: say`Nothing needs a person.`, style: 'green' }
  for (const { what, why, command } of needs) yield { text: say`WRONG ${what}: ${why}. See: ${command}`, style: 'red' }
}

function describeCalls(say: Say, { effects }: Figures): string {
  const counts = new Map<string, number>()
  for (const { state, count } of effects) counts.set(state, (counts.get(state) ?? 0) + count)
  return counts.size === 0 ? say`none open` : [...counts].map(([state, count]) => `${count} ${state}`).join(', ')
}
