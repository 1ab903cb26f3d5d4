import { readOpenCalls } from '../../console/stream-row.ts'
import { type Averba, AverbaError, type Call, type Views } from '../../index.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { defineCommand, defineGroup } from '../command.ts'
import type { Say } from '../language.ts'
import { lookInto, sourceOptions, withLog } from '../load-config.ts'
import { actorOption, limitOption, readActor, readReveal, revealOptions } from '../options.ts'
import { formatInstant, formatPair, type Line } from '../output.ts'
import { formatList, type Row, upToLimit } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { describeWait, toCallJson } from './effects.ts'

type ValidationRow = Views['validations']

const states = ['requested', 'answered', 'declined', 'inconclusive', 'resolved', 'erased'] as const

const listCommand = defineCommand({
  usage: 'list',
  description: 'List the paid validations, the newest first, without any data of persons.',
  options: {
    '--state <name>': { text: 'only those in this state', choices: states },
    ...limitOption,
    ...sourceOptions,
  },
  example: 'averba validations list --state inconclusive',
  notes: 'Exit codes: 0 listed, 1 not listed.',
  async run(terminal, { state, limit, ...source }) {
    const [rows, calls] = await lookInto(terminal, source, async averba => {
      const all = averba.views
        .selectFrom('validations')
        .selectAll()
        .orderBy('validation', 'desc')
        .limit(limit + 1)
      const found = await (state ? all.where('state', '=', state) : all).execute()
      return [found, await findWaiting(averba, found)] as const
    })
    const { shown, more } = upToLimit(rows, limit)
    const validations = shown.map(row => toJson(row, calls.get(row.validation)))
    return { result: { validations, more }, lines: formatValidations(terminal, shown, calls, more) }
  },
})

/** The calls that wait, by their validation. */
async function findWaiting(averba: Averba, rows: readonly ValidationRow[]): Promise<ReadonlyMap<string, Call>> {
  const waiting = new Set(rows.filter(row => row.state === 'requested').map(row => row.validation))
  return new Map((await readOpenCalls(averba, waiting)).map(call => [call.stream, call]))
}

const showCommand = defineCommand({
  usage: 'show <id>',
  description:
    'Show one validation: its state, and of a resolved one whether it was charged. Data of the person is shown with --data only.',
  arguments: ["the host's id of averba validations list"],
  options: { ...revealOptions, ...sourceOptions },
  example: 'averba validations show order-1',
  notes: 'Exit codes: 0 shown, 1 there is none with this id.',
  async run(terminal, { data, actor, purpose, ...source }, id) {
    const reveal = readReveal({ data, actor, purpose })
    return (reveal ? withLog : lookInto)(terminal, source, async averba => {
      const row = await requireRow(averba, id)
      const { claims, result, note } = row
      const isErased = await isErasedWholly(averba, row)
      // A reveal of nothing is not recorded.
      const opened = reveal && !isErased && (await averba.subjects.reveal({ claims, result, note }, reveal))
      const revealed = opened || (reveal && { claims: null, result: null, note: null })
      const calls = await findWaiting(averba, [row])
      const content = isErased ? terminal.say`destroyed with its person` : opened || undefined
      return {
        result: { ...toJson(row, calls.get(row.validation)), ...revealed },
        lines: formatValidation(terminal, row, calls, content),
      }
    })
  },
})

async function requireRow({ views }: Averba, id: string): Promise<ValidationRow> {
  const row = await views.selectFrom('validations').selectAll().where('id', '=', id).executeTakeFirst()
  if (row) return row
  throw new AverbaError('NOT_FOUND', 'Cannot find the validation: no validation has this id', {
    hint: 'Use the id given to validate, not the trace id: validations.list has all of them',
  })
}

/** Whether the latest erasure of the person kept nothing. */
async function isErasedWholly({ log }: Averba, { subject }: ValidationRow): Promise<boolean> {
  const erasures = log.read({ stream: streamOf('subject', subject), types: ['subject.erased'], backward: true })
  for await (const { data } of erasures) return data.kept.length === 0
  return false
}

const resolveCommand = defineCommand({
  usage: 'resolve <id>',
  description: 'Record whether an inconclusive validation was charged, as you found out at the service.',
  arguments: ["the host's id of averba validations list"],
  options: {
    '--charged': 'it was charged, and its result is lost',
    '--not-charged': 'it was not charged',
    '--note <text>': 'how you found out: kept sealed, as data of the person',
    ...actorOption,
    ...sourceOptions,
  },
  example: 'averba validations resolve order-1 --not-charged --actor agent-7',
  notes: 'Nothing is sent. To pay again, the host validates with `again`.\nExit codes: 0 recorded, 1 not recorded.',
  async run(terminal, { charged, notCharged, note, actor, ...source }, id) {
    if (charged === notCharged)
      throw new AverbaError('INVALID_INPUT', 'Cannot resolve the validation: give either --charged or --not-charged')
    const verdict = { charged, ...(note !== undefined && { note }) }
    const before = await withLog(terminal, source, async ({ validations }) => {
      const known = await validations.get(id)
      await validations.resolve(id, verdict, readActor(actor))
      return known?.resolved?.charged ?? charged
    })
    const { say } = terminal
    return {
      result: { id, charged },
      lines: [
        charged ? say`${id}: recorded as charged.` : say`${id}: recorded as not charged.`,
        ...(before === charged ? [] : [say`It had been recorded otherwise before: the log keeps both.`]),
      ],
    }
  },
})

export const validationsCommands = defineGroup('validations', 'Paid validations of identities.', [
  listCommand,
  showCommand,
  resolveCommand,
])

/** A row, and the call that waits, without the addresses of sealed parts. */
function toJson(row: ValidationRow, call: Call | undefined) {
  const { validation, id, subject, state, charged, requested_at: requestedAt, ended_at: endedAt } = row
  return {
    ...{ validation, traceId: traceIdOf(validation), id, subject, state, requestedAt, endedAt },
    ...{ reusedFrom: row.reused_from, charged: charged === null ? null : charged === 1, resolvedAt: row.resolved_at },
    call: call ? toCallJson(call) : null,
  }
}

/** The id that the service got with the call, by which its invoice names it. */
function traceIdOf(validation: string): string {
  return validation.slice('validation-'.length)
}

function formatValidations(
  terminal: Terminal,
  rows: readonly ValidationRow[],
  calls: ReadonlyMap<string, Call>,
  more: boolean,
): Iterable<Line> {
  const { say } = terminal
  const headings = [say`ID`, say`STATE`, say`REQUESTED`, say`WHAT TO DO`]
  const table = rows.map((row): Row => {
    const cells = [row.id, row.state, formatInstant(row.requested_at), describeNext(say, row, calls)]
    return { cells, style: row.state === 'inconclusive' ? 'red' : undefined }
  })
  return formatList(terminal, headings, table, { none: say`No validations.`, more })
}

function describeNext(
  say: Say,
  { state, charged, validation, again_by }: ValidationRow,
  calls: ReadonlyMap<string, Call>,
): string {
  const call = calls.get(validation)
  if (call) return `${call.id}: ${describeWait(say, call)}`
  if (again_by !== null) return say`paid again as ${again_by}`
  if (state === 'inconclusive')
    return say`perhaps done and paid, with the trace id ${traceIdOf(validation)}: find out [resolve]`
  if (state === 'resolved') return charged === 1 ? say`charged` : say`not charged`
  return state === 'requested' ? say.commands(`averba show ${validation}`) : ''
}

function* formatValidation(
  { say }: Terminal,
  row: ValidationRow,
  calls: ReadonlyMap<string, Call>,
  content: object | string = say`sealed: --data shows it`,
): Iterable<string | Line> {
  yield { text: row.id, style: 'bold' }
  const next = describeNext(say, row, calls)
  yield formatPair(say`state`, next === '' ? row.state : `${row.state}: ${next}`)
  yield formatPair(say`requested`, formatInstant(row.requested_at))
  if (row.ended_at !== null) yield formatPair(say`ended`, formatInstant(row.ended_at))
  if (row.reused_from !== null) yield formatPair(say`answer of`, row.reused_from)
  if (row.again_of !== null) yield formatPair(say`paid again for`, row.again_of)
  yield formatPair(say`subject`, row.subject)
  yield formatPair(say`trace id`, traceIdOf(row.validation))
  yield formatPair(say`stream`, say.commands(`${row.validation} (averba show ${row.validation})`))
  if (typeof content === 'string') yield formatPair(say`content`, content)
  else yield* ['', ...JSON.stringify(content, null, 2).split('\n')]
}
