import { takeFirst } from '../../console/stream-row.ts'
import { type Averba, AverbaError, type Call, type CallDetail } from '../../index.ts'
import { describeState } from '../../pages/describe.ts'
import { getLanguageWords } from '../../pages/words.ts'
import { effectStates } from '../../vocabulary/message.ts'
import { effectStream, serviceNames } from '../../vocabulary/names.ts'
import { defineCommand, defineGroup, type OptionValues } from '../command.ts'
import type { Say } from '../language.ts'
import { lookInto, sourceOptions, withLog } from '../load-config.ts'
import { actOnEach } from '../many.ts'
import { actOptions, limitOption, readActorUnless, readReveal, rejectSelection, revealOptions } from '../options.ts'
import { formatInstant, formatPair, formatUntil, type Line } from '../output.ts'
import { formatList, upToLimit } from '../table.ts'
import type { Terminal } from '../terminal.ts'

const states = ['open', ...effectStates] as const

const filterOptions = {
  '--service <name>': { text: 'only calls to this service', choices: serviceNames },
  '--type <name>': 'only calls of this type, such as consentService.changeStatus',
  '--stream <stream>': 'only calls of this stream, such as consent-…',
} as const

type CallFilter = OptionValues<typeof filterOptions>

const listCommand = defineCommand({
  usage: 'list',
  description: 'List the calls that have not ended: why each waits, until when, and what you can do.',
  options: {
    '--state <name>': { text: 'only those in this state', choices: states, fallback: 'open' },
    ...filterOptions,
    ...limitOption,
    ...sourceOptions,
  },
  example: 'averba effects list --state parked --service portal',
  notes: 'Exit codes: 0 listed, 1 not listed.',
  async run(terminal, { state, limit, service, type, stream, ...source }) {
    const found = await lookInto(terminal, source, averba =>
      findCalls(averba, state, { service, type, stream }, limit + 1),
    )
    const { shown, more } = upToLimit(found, limit)
    return { result: { calls: shown.map(toCallJson), more }, lines: formatCalls(terminal, shown, more) }
  },
})

const showCommand = defineCommand({
  usage: 'show <id>',
  description: 'Show one call: what it is, why it waits, how often it was attempted, and what was answered.',
  arguments: ['the id of averba effects list'],
  options: { ...revealOptions, ...sourceOptions },
  example: 'averba effects show consent-01m7wd7tg0/2/0',
  notes: 'Exit codes: 0 shown, 1 there is none with this id.',
  async run(terminal, { data, actor, purpose, ...source }, id) {
    const reveal = readReveal({ data, actor, purpose })
    const { call, answer, hasHistory } = await (reveal ? withLog : lookInto)(terminal, source, async averba => {
      const found = await requireCall(averba, id)
      const [event] = await takeFirst(averba.log.read({ stream: effectStream(found) }), 1)
      const shown = { call: found, hasHistory: event !== undefined }
      const part = found.unread?.part
      if (!reveal || part === undefined) return { ...shown, answer: undefined }
      return { ...shown, answer: String((await averba.subjects.reveal({ answer: part }, reveal)).answer) }
    })
    const { unread, ...rest } = call
    const seen = unread && { unread: { ...unread, text: answer } }
    return { result: { ...toCallJson(rest), ...seen }, lines: formatCall(terminal, call, answer, hasHistory) }
  },
})

/** Defines a command that acts on calls: those with the ids, or all that the filter finds. */
function defineAct(
  verb: 'retry' | 'park' | 'withdraw',
  from: (typeof states)[number],
  description: string,
  example: string,
  note = '',
) {
  return defineCommand({
    usage: `${verb} [id...]` as const,
    description,
    arguments: ['the ids of the calls; without ids all calls that the options select'],
    options: {
      '--state <name>': { text: `only calls in this state; by default ${from}`, choices: states },
      ...filterOptions,
      ...actOptions,
      ...sourceOptions,
    },
    example: `averba effects ${verb} ${example} --actor agent-7`,
    notes: `${note}Exit codes: 0 all are accepted, 1 a call was refused or not found.`,
    async run(terminal, { state, service, type, stream, actor, dryRun, ...source }, ids) {
      rejectSelection(ids, { state, service, type, stream })
      if (ids.length === 0 && [state, service, type, stream].every(each => each === undefined)) {
        const hint = `Give ids, or --state, --service, --type or --stream. To see which calls: add --dry-run`
        throw new AverbaError('INVALID_INPUT', `Cannot ${verb} calls: neither ids nor what selects them`, { hint })
      }
      const by = readActorUnless(dryRun, actor)
      return (by ? withLog : lookInto)(terminal, source, async averba => {
        const filter = { service, type, stream }
        const found = ids.length > 0 ? ids : (await findCalls(averba, state ?? from, filter)).map(({ id }) => id)
        const look = async (id: string) => {
          const { waiting } = await requireCall(averba, id)
          if (waiting?.actions.includes(verb)) return
          throw new AverbaError('REFUSED', `Cannot ${verb} the call now: averba effects show says what can be done`)
        }
        const act = by && ((id: string) => averba.effects[verb](id, by))
        const { say } = terminal
        const none = say`Nothing was found: only ${state ?? from} calls were looked for. --state selects others.`
        return actOnEach(terminal, 'call', found, { act, look, none })
      })
    },
  })
}

export const effectsCommands = defineGroup('effects', 'Calls to the services that have not ended.', [
  listCommand,
  showCommand,
  defineAct(
    'retry',
    'parked',
    'Release parked or deferred calls: they are due at once.',
    '--service portal',
    'A process that runs performs them: averba run.\n',
  ),
  defineAct(
    'park',
    'deferred',
    'Hold calls back until somebody releases them.',
    '--type consentService.changeStatus --state pending',
  ),
  defineAct(
    'withdraw',
    'parked',
    'Give up calls that were not done: approvals, validations, changes of subscriptions. They are never sent.',
    'validation-01m7wd7tg0/1/0',
    'A denial or revocation is given up by averba consents withdraw-end only.\n',
  ),
])

async function findCalls(
  { effects }: Averba,
  state: (typeof states)[number],
  { service, type, stream }: CallFilter,
  max = Number.POSITIVE_INFINITY,
): Promise<Call[]> {
  const isWanted = (call: Call) =>
    (service === undefined || call.type.startsWith(`${service}.`)) &&
    (type === undefined || call.type === type) &&
    (stream === undefined || call.stream === stream)
  return takeFirst(effects.list({ state }), max, isWanted)
}

async function requireCall({ effects }: Averba, id: string): Promise<CallDetail> {
  const call = await effects.get(id)
  if (call) return call
  throw new AverbaError('NOT_FOUND', 'Cannot show the call: no call has this id', { hint: 'averba effects list' })
}

/** What a program needs of a call. Its data holds no personal data, and its parts stay sealed. */
export function toCallJson({ id, type, stream, state, dueAt, attempts, reason, waiting }: Call) {
  return { id, type, stream, state, dueAt: dueAt ?? null, attempts, reason, waiting: waiting ?? null }
}

function formatCalls(terminal: Terminal, calls: readonly Call[], more: boolean): Iterable<Line> {
  const { say } = terminal
  const headings = [say`ID`, say`CALL`, say`STATE`, say`WHY, UNTIL WHEN, WHAT TO DO`]
  const rows = calls.map(call => ({
    cells: [call.id, call.type, call.state, describeWait(say, call)],
    style: styleOf(call),
  }))
  return formatList(terminal, headings, rows, { none: say`No calls.`, more })
}

function styleOf({ state, waiting }: Call): Line['style'] {
  if (state === 'parked' || waiting?.for === 'person' || waiting?.for === 'repair') return 'red'
  return state === 'unknown' || state === 'deferred' ? 'yellow' : undefined
}

/** Says in one line why a call waits, until when, and what a person can do; or how it ended. */
export function describeWait(say: Say, { waiting, ...call }: Call): string {
  const words = getLanguageWords(say.language)
  const reason = call.state === 'cancelled' ? '' : say.message(call.reason)
  if (!waiting) return [describeState(call, words), reason].filter(each => each !== '').join(': ')
  const { until, actions } = waiting
  const when = until === null ? '' : ` ${formatUntil(say, until)}`
  const why = `${say.commands(words.waitings[waiting.for])}${when}${reason === '' ? '' : `: ${reason}`}`
  // `resolve` is said in words: it takes the id of the validation.
  const acts = actions.filter(each => each !== 'resolve')
  return acts.length === 0 ? why : `${why} [${acts.join(', ')}]`
}

function* formatCall(
  terminal: Terminal,
  call: CallDetail,
  answer: string | undefined,
  hasHistory: boolean,
): Iterable<string | Line> {
  const { say } = terminal
  const { id, type, stream, state, dueAt, attempts, unread } = call
  yield { text: `${id}  ${type}`, style: 'bold' }
  yield formatPair(say`state`, state)
  yield formatPair(call.waiting ? say`waits` : say`ended`, describeWait(say, call))
  if (dueAt !== undefined) yield formatPair(say`due`, formatInstant(dueAt))
  yield formatPair(say`attempts`, String(attempts))
  yield formatPair(say`stream`, say.commands(`${stream} (averba show ${stream})`))
  const own = effectStream(call)
  if (hasHistory) yield formatPair(say`history`, say.commands(`${own} (averba show ${own})`))
  if (!unread) return
  const { httpStatus, form, at } = unread
  yield formatPair(say`answer`, say`HTTP ${httpStatus} (${form}) at ${formatInstant(at)}, not understood`)
  if (answer !== undefined) yield formatPair('', answer)
  else if (unread.part !== undefined)
    yield formatPair('', say`--data shows its beginning, which may hold personal data`)
}
