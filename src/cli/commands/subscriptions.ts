import { readFileSync } from 'node:fs'
import { type ApplyResult, AverbaError, type Failure, type Plan, type Subscription } from '../../index.ts'
import { readDay } from '../../vocabulary/brasilia.ts'
import { describeProblem } from '../../vocabulary/outcome.ts'
import { defineCommand, defineGroup, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { configOption, lookInto, sourceOptions, withConfigured } from '../load-config.ts'
import { actorOption, readActor } from '../options.ts'
import { codeOfAll, describeOutcome, endOf } from '../outcome.ts'
import { formatInstant, formatUntil, type Line } from '../output.ts'
import { formatTable, type Row } from '../table.ts'
import type { Terminal } from '../terminal.ts'

export const planCommand = defineCommand({
  usage: 'plan',
  description: 'Show the changes that make the subscriptions at the portal match the declared ones.',
  options: {
    ...configOption,
    '--take-over': 'count subscriptions of others to declared events as changes',
  },
  example: 'averba plan',
  notes:
    'The portal is only read, and no secret is shown.\n' +
    'Exit codes: 0 no changes, 2 there are changes, 1 the plan could not be made.',
  async run(terminal, { config, takeOver }) {
    const made = await withConfigured(terminal, config, averba => averba.subscriptions.plan())
    const { hash, changes, unreadable } = made
    // Those that averba apply would make.
    const count = changes.filter(({ action, isTaken }) => action !== 'leave' || (isTaken && takeOver)).length
    const code = count > 0 ? exitCodes.attention : exitCodes.done
    return { result: { hash, changes, unreadable }, lines: formatPlan(terminal.say, made, count), code }
  },
})

function* formatPlan(say: Say, made: Plan, count: number): Iterable<string> {
  for (const { action, isTaken, evento, endpoint, reason } of made.changes)
    yield `${say.text(isTaken ? 'taken' : action)} ${evento} ${endpoint} (${say.message(reason)})`
  for (const id of made.unreadable) yield say`unreadable ${id ?? say`without an id`} (look at its row in the portal)`
  yield count === 0
    ? say`Nothing to do.`
    : say`${say.count(count, 'change')}. To apply exactly this plan: averba apply --hash ${made.hash}`
}

export const applyCommand = defineCommand({
  usage: 'apply',
  description: 'Apply a plan: make the subscriptions at the portal match the declared ones.',
  options: {
    ...configOption,
    '--plan <file>': 'the plan that averba plan --json printed; refused when it is no longer current',
    '--hash <hash>': 'the hash of the plan that averba plan showed, in place of --plan',
    '--allow-deletions': 'delete our subscriptions that are no longer declared',
    '--take-over': 'take over subscriptions of others to declared events',
  },
  example: 'averba apply --hash 3f0c2a',
  notes:
    'Without --plan or --hash a new plan is made and applied. Each event has its own result.\n' +
    'Exit codes: 0 all changes are done, 1 a change is not done.',
  async run(terminal, { config, plan, hash: given, allowDeletions, takeOver }) {
    if (plan !== undefined && given !== undefined) {
      throw new AverbaError('INVALID_INPUT', 'Cannot apply two plans: give --plan or --hash, not both')
    }
    const wanted = plan === undefined ? given : readPlanHash(plan)
    const result = await withConfigured(terminal, config, async ({ subscriptions }) => {
      const hash = wanted ?? (await subscriptions.plan()).hash
      const deletions = allowDeletions ? 'allow' : 'refuse'
      return { hash, applied: await subscriptions.apply({ hash }, { deletions, takeOver }) }
    })
    const areSettled = result.applied.every(each => each.status === 'settled')
    return { result, lines: formatResults(terminal.say, result), code: areSettled ? exitCodes.done : exitCodes.error }
  },
})

function readPlanHash(file: string): string {
  const hint = 'Write one with: averba plan --json > plan.json'
  try {
    const { hash }: { hash?: unknown } = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof hash === 'string') return hash
  } catch (cause) {
    const message = `Cannot read the plan "${file}": it is missing or not JSON`
    throw new AverbaError('INVALID_INPUT', message, { cause, hint })
  }
  throw new AverbaError('INVALID_INPUT', `Cannot read the plan "${file}": it has no hash`, { hint })
}

function* formatResults(
  say: Say,
  { hash, applied }: { hash: string; applied: readonly ApplyResult[] },
): Iterable<string> {
  yield say`plan ${hash}`
  for (const each of applied) {
    const { action, isTaken, evento, endpoint } = each.change
    const what = say.text(isTaken ? 'take over' : action)
    yield `${say.text(each.status)}: ${what} ${evento} ${endpoint}${formatResultReason(say, each)}`
  }
  if (applied.length === 0) yield say`Nothing to do.`
}

function formatResultReason(say: Say, applied: ApplyResult): string {
  if (applied.status === 'declined') {
    const reason = describeProblem(applied.problem)
    return applied.problem.status === 0 ? ` (${reason})` : say` (${reason}; --json prints the portal's own words)`
  }
  if (applied.status === 'deferred') return say` (retried at ${applied.retryAt}: ${say.message(applied.reason)})`
  return applied.status === 'unknown' ? say` (the next plan shows whether it was done)` : ''
}

const thirtyDays = "one of the last thirty days, in Brasilia; by default the portal's today"

export const failuresCommand = defineCommand({
  usage: 'failures',
  description: 'Read the failure records of a day at the portal: deliveries that did not reach you.',
  options: {
    ...configOption,
    '--day <day>': { text: thirtyDays, read: readDay },
    '--recover': 'store the notifications that are not in the inbox yet',
    '--json': 'print one JSON object, without the sent content, which may be personal data',
  },
  example: 'averba failures --day 2026-11-20 --recover',
  notes: 'Exit codes: 0 the records were read, 1 they were not.',
  async run(terminal, { config, day, recover }) {
    const { say } = terminal
    const failures = await withConfigured(terminal, config, async ({ subscriptions }) => {
      const found = subscriptions.failures({ recover, ...(day !== undefined && { day }) })
      return Array.fromAsync(found, ({ conteudo: _, ...each }) => each)
    })
    const count = failures.length === 0 ? say`No delivery failed.` : `${say.count(failures.length, 'failed delivery')}.`
    return { result: { failures }, lines: [...failures.map(each => formatFailure(say, each)), count] }
  },
})

/** Formats a failure record without its content, which may be personal data. */
function formatFailure(
  say: Say,
  { id, data, evento, descricao, notification, recovery }: Omit<Failure, 'conteudo'>,
): string {
  const result = recovery === null ? say`inbox not checked` : `${say.text(recovery)}: ${notification}`
  return `${data ?? say`(unreadable time)`} ${evento} ${id} ${descricao} (${result})`
}

const listCommand = defineCommand({
  usage: 'list',
  description: 'List our subscriptions as last known: their health, and when the portal will delete one.',
  options: { '--inactive': 'also those that we deleted', ...sourceOptions },
  example: 'averba subscriptions list',
  notes: 'The portal is not read: averba plan does.\nExit codes: 0 listed, 1 not listed.',
  async run(terminal, { inactive, ...source }) {
    const all = await lookInto(terminal, source, averba => averba.subscriptions.list({ inactive: true }))
    const subscriptions = all.filter(({ deletedBy }) => inactive || deletedBy !== 'us')
    return { result: { subscriptions }, lines: formatSubscriptions(terminal, subscriptions) }
  },
})

const rotateCommand = defineCommand({
  usage: 'rotate <evento>',
  description: 'Rotate the derived secret of a subscription: both secrets are accepted while the portal changes.',
  arguments: ['the event of the subscription'],
  options: { ...configOption, ...actorOption },
  example: 'averba subscriptions rotate dimp-situacao-import --actor agent-7',
  notes: 'Exit codes: 0 done, 2 not known yet: averba run continues it, 1 not done.',
  async run(terminal, { config, actor }, evento) {
    const outcome = await withConfigured(terminal, config, ({ subscriptions }) =>
      subscriptions.rotate(evento, readActor(actor)),
    )
    return endOf(terminal.say, evento, outcome)
  },
})

const recoverCommand = defineCommand({
  usage: 'recover [day]',
  description: 'Read the failure records of a day and the day before, and put missing notifications into the inbox.',
  arguments: [thirtyDays],
  options: configOption,
  example: 'averba subscriptions recover 2026-11-20',
  notes: 'Exit codes: 0 both days are read, 2 not known yet: averba run continues it, 1 not read.',
  async run(terminal, { config }, entered) {
    const { say } = terminal
    const day = entered && readDay(entered)
    const outcomes = await withConfigured(terminal, config, ({ subscriptions }) => subscriptions.recover(day))
    const days = [say`the day before`, day ?? say`today`]
    const lines = outcomes.map((each, i) =>
      each.status === 'settled'
        ? say`${each.value.day}: ${say.count(each.value.recovered, 'notification')} recovered of ${say.count(each.value.read, 'failure record')}.`
        : `${days[i]}: ${describeOutcome(say, each)}.`,
    )
    return { result: { outcomes }, lines, code: codeOfAll(outcomes) }
  },
})

export const subscriptionsCommands = defineGroup('subscriptions', 'Subscriptions at the portal.', [
  listCommand,
  rotateCommand,
  recoverCommand,
])

function formatSubscriptions(terminal: Terminal, all: readonly Subscription[]): Iterable<Line> {
  const { say } = terminal
  const headings = [say`EVENT`, say`STATE`, say`HEALTH`, say`ENDPOINT`, say`WHY, UNTIL WHEN, WHAT TO DO`]
  const describe = ({ deletionAt, failingSince, failures, areSecretsOurs, deletedBy }: Subscription): string => {
    if (deletedBy !== null) return deletedBy === 'us' ? say`deleted by us` : say`deleted by the portal [averba plan]`
    if (!areSecretsOurs) return say`the portal has other secrets [averba plan]`
    if (deletionAt === null || failingSince === null) return ''
    const until = formatUntil(say, deletionAt)
    return say`${failures} failures since ${formatInstant(failingSince)}: the portal deletes it ${until} [recover]`
  }
  const rows = all.map((each): Row => {
    const isSoon = each.deletedBy === 'portal' || (each.daysLeft ?? 30) <= 7
    const style = isSoon ? 'red' : each.failingSince === null ? undefined : 'yellow'
    return { cells: [each.evento, each.state, each.health, each.endpoint, describe(each)], style }
  })
  return formatTable(terminal, headings, rows, say`No subscriptions.`)
}
