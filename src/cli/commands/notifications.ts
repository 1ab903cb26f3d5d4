import { textOfBytes } from '../../console/row.ts'
import { type Averba, AverbaError, type HandlerState, type Views } from '../../index.ts'
import { idOfStream } from '../../vocabulary/names.ts'
import { defineCommand, defineGroup } from '../command.ts'
import type { Say } from '../language.ts'
import { lookInto, sourceOptions, withLog } from '../load-config.ts'
import { actOnEach } from '../many.ts'
import {
  actOptions,
  actorOption,
  limitOption,
  readActor,
  readActorUnless,
  readReveal,
  rejectSelection,
  revealOptions,
} from '../options.ts'
import { formatInstant, formatPair, formatUntil, type Line } from '../output.ts'
import { formatList, type Row, upToLimit } from '../table.ts'
import type { Terminal } from '../terminal.ts'

type NotificationRow = Views['notifications']

const states = ['received', 'failing', 'parked', 'handled'] as const

const filterOptions = {
  '--evento <name>': 'only those of this event',
} as const

const listCommand = defineCommand({
  usage: 'list',
  description: 'List the notifications, the newest first, without their contents.',
  options: {
    '--state <name>': { text: 'only those in this state', choices: states },
    ...filterOptions,
    ...limitOption,
    ...sourceOptions,
  },
  example: 'averba notifications list --state parked',
  notes: 'Exit codes: 0 listed, 1 not listed.',
  async run(terminal, { state, evento, limit, ...source }) {
    const rows = await lookInto(terminal, source, averba => findRows(averba, { state, evento, limit: limit + 1 }))
    const { shown, more } = upToLimit(rows, limit)
    return { result: { notifications: shown.map(toJson), more }, lines: formatNotifications(terminal, shown, more) }
  },
})

const showCommand = defineCommand({
  usage: 'show <id>',
  description: 'Show one notification and its handlers. Its content is shown with --data only.',
  arguments: ['the id of averba notifications list'],
  options: { ...revealOptions, ...sourceOptions },
  example: 'averba notifications show 01m7wd7tg0 --data --actor agent-7 --purpose "ticket 12"',
  notes: 'Exit codes: 0 shown, 1 there is none with this id.',
  async run(terminal, { data, actor, purpose, ...source }, id) {
    const reveal = readReveal({ data, actor, purpose })
    const { row, body } = await (reveal ? withLog : lookInto)(terminal, source, async averba => {
      const found = await requireRow(averba, id)
      return { row: found, body: reveal && textOfBytes((await averba.subjects.reveal(found, reveal)).body) }
    })
    const content = body === undefined ? {} : { body }
    return { result: { ...toJson(row), ...content }, lines: formatNotification(terminal, row, body) }
  },
})

const replayCommand = defineCommand({
  usage: 'replay [id...]',
  description: 'Call handlers again now: of these notifications, or all that failed.',
  arguments: ['the ids of averba notifications list; without ids all with a handler that is failing or parked'],
  options: {
    '--failed': 'only the handlers that failed: always so without ids',
    ...filterOptions,
    ...actOptions,
    ...sourceOptions,
  },
  example: 'averba notifications replay --evento dimp-situacao-import --actor agent-7',
  notes:
    'A process that runs calls the handlers: averba run.\nExit codes: 0 all are accepted, 1 one was refused or not found.',
  async run(terminal, { failed, evento, actor, dryRun, ...source }, ids) {
    rejectSelection(ids, { evento })
    const by = readActorUnless(dryRun, actor)
    return (by ? withLog : lookInto)(terminal, source, async averba => {
      const isAll = ids.length === 0
      const found = isAll
        ? (await findRows(averba, { hasFailed: true, evento })).map(row => idOfStream(row.notification))
        : ids
      const act =
        by && ((id: string) => averba.notifications.replay({ id: idOfStream(id), failed: failed || isAll }, by))
      const look = (id: string) => requireRow(averba, id)
      return actOnEach(terminal, 'notification', found, { act, look })
    })
  },
})

const skipCommand = defineCommand({
  usage: 'skip <id...>',
  description: 'Let handlers that failed go on without notifications that a person has dealt with.',
  arguments: ['the ids of averba notifications list'],
  options: { ...actorOption, ...sourceOptions },
  example: 'averba notifications skip 01m7wd7tg0 --actor agent-7',
  notes:
    'Their handlers are called again only by a replay.\nExit codes: 0 all are accepted, 1 one was refused or not found.',
  async run(terminal, { actor, ...source }, ids) {
    return withLog(terminal, source, ({ notifications }) =>
      actOnEach(terminal, 'notification', ids, { act: id => notifications.skip(idOfStream(id), readActor(actor)) }),
    )
  },
})

export const notificationsCommands = defineGroup('notifications', 'The inbox: notifications of the portal.', [
  listCommand,
  showCommand,
  replayCommand,
  skipCommand,
])

interface NotificationFilter {
  readonly state?: (typeof states)[number] | undefined
  readonly hasFailed?: boolean
  readonly evento: string | undefined
  readonly limit?: number
}

function findRows(
  { views }: Averba,
  { state, hasFailed, evento, limit }: NotificationFilter,
): Promise<NotificationRow[]> {
  let query = views.selectFrom('notifications').selectAll()
  // The oldest first where they are acted on: handlers get them in the order in which they arrived.
  query = limit === undefined ? query.orderBy('notification') : query.orderBy('notification', 'desc').limit(limit)
  if (state !== undefined) query = query.where('state', '=', state)
  if (hasFailed) query = query.where('trouble', 'is not', null)
  if (evento !== undefined) query = query.where('evento', '=', evento)
  return query.execute()
}

async function requireRow({ views }: Averba, id: string): Promise<NotificationRow> {
  const stream = id.startsWith('notification-') ? id : `notification-${id}`
  const [row] = await views.selectFrom('notifications').selectAll().where('notification', '=', stream).execute()
  if (row) return row
  throw new AverbaError('NOT_FOUND', 'Cannot show the notification: none has this id', {
    hint: 'averba notifications list',
  })
}

function handlersOf({ handlers }: Pick<NotificationRow, 'handlers'>): HandlerState[] {
  return JSON.parse(handlers) // As the view wrote it.
}

function toJson(row: NotificationRow) {
  const { notification, evento, origin, state, copies } = row
  return {
    ...{ id: idOfStream(notification), evento, origin, state, copies, receivedAt: row.received_at },
    ...{ failedAt: row.failed_at, bodyBytes: row.body_bytes, handlers: handlersOf(row) },
  }
}

function formatNotifications(terminal: Terminal, rows: readonly NotificationRow[], more: boolean): Iterable<Line> {
  const { say } = terminal
  const headings = [say`ID`, say`EVENT`, say`STATE`, say`RECEIVED`, say`HANDLERS`]
  const table = rows.map((row): Row => {
    const why = handlersOf(row).map(each => describeHandler(say, each))
    const hint = row.trouble ? ' [replay, skip]' : ''
    const [id, at] = [idOfStream(row.notification), formatInstant(row.received_at)]
    const style = row.trouble === 'parked' ? 'red' : row.trouble ? 'yellow' : undefined
    return { cells: [id, row.evento, row.state, at, why.join(', ') + hint], style }
  })
  return formatList(terminal, headings, table, { none: say`No notifications.`, more })
}

function describeHandler(say: Say, { handler, state, attempts, retryAt }: HandlerState): string {
  if (retryAt === null) return `${handler}: ${state}`
  return `${handler}: ${state} (${say.count(attempts, 'attempt')}), ${say`again at ${formatUntil(say, retryAt)}`}`
}

function* formatNotification(
  { say }: Terminal,
  row: NotificationRow,
  body: string | undefined,
): Iterable<string | Line> {
  yield { text: `${idOfStream(row.notification)}  ${row.evento}`, style: 'bold' }
  yield formatPair(say`state`, row.state)
  const copies = row.copies === 1 ? '' : `, ${say`it arrived ${row.copies} times`}`
  yield formatPair(say`received`, `${formatInstant(row.received_at)} (${row.origin}${copies})`)
  for (const each of handlersOf(row))
    yield formatPair(say`handler`, `${describeHandler(say, each)}${each.reason === '' ? '' : `: ${each.reason}`}`)
  yield formatPair(say`stream`, say.commands(`${row.notification} (averba show ${row.notification})`))
  if (body === undefined) yield formatPair(say`content`, say`${row.body_bytes} bytes, sealed: --data shows it`)
  else yield* ['', ...(body === '' ? [say`The content was destroyed.`] : body.split('\n'))]
}
