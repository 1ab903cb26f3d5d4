import { readFileSync } from 'node:fs'
import { type ApplyResult, AverbaError, type Failure, type Plan } from '../../index.ts'
import { describeProblem } from '../../vocabulary/outcome.ts'
import { defineCommand, exitCodes } from '../command.ts'
import { configOption, withConfigured } from '../load-config.ts'
import { formatCount, printLine } from '../output.ts'

/** The exit code when there are changes. */
const changedCode = 2

/** The command `averba plan`. */
export const planCommand = defineCommand({
  usage: 'plan',
  description: 'Show the changes that make the subscriptions at the portal match the declared ones.',
  options: {
    ...configOption,
    '--take-over': 'count subscriptions of others to declared events as changes',
    '--json': 'print one JSON object, for averba apply --plan',
  },
  notes:
    'The portal is only read, and no secret is shown.\n' +
    'Exit codes: 0 no changes, 2 there are changes, 1 the plan could not be made.',
  async run(terminal, { config, takeOver }) {
    const made = await withConfigured(terminal, config, averba => averba.subscriptions.plan())
    const { hash, changes, unreadable } = made
    // Those that averba apply would make.
    const count = changes.filter(({ action, isTaken }) => action !== 'leave' || (isTaken && takeOver)).length
    const code = count > 0 ? changedCode : exitCodes.done
    return { result: { hash, changes, unreadable }, lines: formatPlan(made, count), code }
  },
})

function* formatPlan(made: Plan, count: number): Iterable<string> {
  if (made.changes.length + made.unreadable.length > 0) yield* String(made).split('\n')
  yield count === 0
    ? 'Nothing to do.'
    : `${formatCount(count, 'change')}. To apply exactly this plan: averba apply --hash ${made.hash}`
}

/** The command `averba apply`. */
export const applyCommand = defineCommand({
  usage: 'apply',
  description: 'Apply a plan: make the subscriptions at the portal match the declared ones.',
  options: {
    ...configOption,
    '--plan <file>': 'the plan that averba plan --json printed; refused when it is no longer current',
    '--hash <hash>': 'the hash of the plan that averba plan showed, in place of --plan',
    '--allow-deletions': 'delete our subscriptions that are no longer declared',
    '--take-over': 'take over subscriptions of others to declared events',
    '--json': 'print one JSON object',
  },
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
    return { result, lines: formatResults(result), code: areSettled ? exitCodes.done : exitCodes.error }
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

function* formatResults({ hash, applied }: { hash: string; applied: readonly ApplyResult[] }): Iterable<string> {
  yield `plan ${hash}`
  for (const each of applied) {
    const { action, isTaken, evento, endpoint } = each.change
    yield `${each.status}: ${isTaken ? 'take over' : action} ${evento} ${endpoint}${formatResultReason(each)}`
  }
  if (applied.length === 0) yield 'Nothing to do.'
}

function formatResultReason(applied: ApplyResult): string {
  if (applied.status === 'declined') {
    const isFromPortal = applied.problem.status !== 0
    return ` (${describeProblem(applied.problem)}${isFromPortal ? "; --json prints the portal's own words" : ''})`
  }
  if (applied.status === 'deferred') return ` (retried at ${applied.retryAt}: ${applied.reason})`
  return applied.status === 'unknown' ? ' (the next plan shows whether it was done)' : ''
}

/** The command `averba failures`. */
export const failuresCommand = defineCommand({
  usage: 'failures',
  description: 'Read the failure records of a day at the portal: deliveries that did not reach you.',
  options: {
    ...configOption,
    '--day <yyyy-MM-dd>': "one of the last thirty days, in Brasilia; by default the portal's today",
    '--recover': 'store the notifications that are not in the inbox yet',
    '--json': 'print one JSON object, with the sent content, which may be personal data',
  },
  notes: 'Exit codes: 0 the records were read, 1 they were not.',
  async run(terminal, { config, day, recover, json }) {
    await withConfigured(terminal, config, async ({ subscriptions }) => {
      const found = subscriptions.failures({ recover, ...(day !== undefined && { day }) })
      if (json) return printLine(terminal, JSON.stringify({ failures: await found }))
      let count = 0
      for await (const each of found) {
        printLine(terminal, formatFailure(each))
        count += 1
      }
      const deliveries = count === 1 ? 'delivery' : 'deliveries'
      printLine(terminal, count === 0 ? 'No delivery failed.' : `${count} failed ${deliveries}.`)
    })
    return exitCodes.done
  },
})

/** Formats a failure record without its content, which may be personal data. */
function formatFailure({ id, data, evento, descricao, notification, recovery }: Failure): string {
  const result = recovery === null ? 'inbox not checked' : `${recovery}: ${notification}`
  return `${data ?? '(unreadable time)'} ${evento} ${id} ${descricao} (${result})`
}
