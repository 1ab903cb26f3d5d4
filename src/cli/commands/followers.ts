import type { Follower } from '../../index.ts'
import { defineCommand, defineGroup } from '../command.ts'
import type { Say } from '../language.ts'
import { lookInto, sourceOptions, withLog } from '../load-config.ts'
import { actOnEach } from '../many.ts'
import { actorOption, readActor } from '../options.ts'
import { formatInstant, formatUntil, type Line } from '../output.ts'
import { formatTable, type Row } from '../table.ts'
import type { Terminal } from '../terminal.ts'

const listCommand = defineCommand({
  usage: 'list',
  description: 'List the followers of the log and the handlers of notifications: where each is, and which are parked.',
  options: sourceOptions,
  example: 'averba followers list',
  notes: 'Exit codes: 0 listed, 1 not listed.',
  async run(terminal, source) {
    const followers = await lookInto(terminal, source, ({ log }) => log.followers())
    return { result: { followers }, lines: formatFollowers(terminal, followers) }
  },
})

/** Defines a command that acts on followers by their names. */
function defineAct(verb: 'retry' | 'remove', description: string, notes: string) {
  return defineCommand({
    usage: `${verb} <name...>` as const,
    description,
    arguments: ['the names of averba followers list'],
    options: { ...actorOption, ...sourceOptions },
    example: `averba followers ${verb} erp --actor agent-7`,
    notes,
    async run(terminal, { actor, ...source }, names) {
      const method = verb === 'remove' ? 'unfollow' : verb
      return withLog(terminal, source, ({ log }) =>
        actOnEach(terminal, 'follower', names, { act: name => log[method](name, readActor(actor)) }),
      )
    },
  })
}

const skipCommand = defineCommand({
  usage: 'skip <name>',
  description: 'Let a parked follower go on after the event that it could not handle. The log keeps who decided it.',
  arguments: ['the name of averba followers list'],
  options: { ...actorOption, ...sourceOptions },
  example: 'averba followers skip erp --actor agent-7',
  notes: 'Exit codes: 0 skipped, 1 the follower is not parked.',
  async run(terminal, { actor, ...source }, name) {
    const { say } = terminal
    const position = await withLog(terminal, source, ({ log }) => log.skip(name, readActor(actor)))
    return { result: { follower: name, skipped: position }, lines: [say`${name} skips the event at ${position}.`] }
  },
})

export const followersCommands = defineGroup('followers', 'Followers of the log and handlers of notifications.', [
  listCommand,
  defineAct(
    'retry',
    'Let parked followers try their event again. The log keeps who decided it.',
    'A process that runs calls them: averba run.\nExit codes: 0 all are accepted, 1 a follower is not parked.',
  ),
  skipCommand,
  defineAct(
    'remove',
    'Forget followers that no process runs any longer. The log keeps who decided it.',
    'Only one for which an event has waited for a day.\nExit codes: 0 all are removed, 1 one is not.',
  ),
])

function formatFollowers(terminal: Terminal, followers: readonly Follower[]): Iterable<string | Line> {
  const { say } = terminal
  const headings = [say`NAME`, say`POSITION`, say`WHY, UNTIL WHEN, WHAT TO DO`]
  const rows = followers.map((each): Row => {
    const style = each.isParked ? 'red' : each.attempts > 0 ? 'yellow' : undefined
    return { cells: [each.name, String(each.position), describeFollower(say, each)], style }
  })
  return formatTable(terminal, headings, rows, say`No followers.`)
}

function describeFollower(say: Say, { isParked, reason, position, dueAt, takenUntil, waitingSince }: Follower): string {
  const at = position + 1
  const why = say.message(reason)
  if (isParked) return say`parked at the event ${at}: ${why} [retry, skip]`
  if (dueAt !== null) return say`tries the event ${at} again ${formatUntil(say, dueAt)}: ${why}`
  if (takenUntil !== null) return say`at work in a process`
  if (waitingSince === null) return say`waits for its next event`
  return say`an event waits since ${formatInstant(waitingSince)} for a process that runs it [remove after a day]`
}
