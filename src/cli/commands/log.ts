import { readStream, takeFirst } from '../../console/stream-row.ts'
import { type Averba, type Events, type Recorded, systemClock } from '../../index.ts'
import { describeEvent } from '../../pages/describe.ts'
import { getLanguageWords } from '../../pages/words.ts'
import { readMoment } from '../../vocabulary/brasilia.ts'
import { defineCommand, exitCodes } from '../command.ts'
import { lookInto, sourceOptions } from '../load-config.ts'
import { limitOption, numberReader, readLimit, rejectOptions } from '../options.ts'
import { formatInstant, type Line, printError, printLine, printStyled } from '../output.ts'
import type { Terminal } from '../terminal.ts'
import { describeWait } from './effects.ts'

const followEveryMs = 500
const lastEvents = 100
const readPosition = numberReader(/^\d{1,15}$/, 'Cannot use --after: it is not a position of the log')

export const logCommand = defineCommand({
  usage: 'log',
  description: 'Print events of the log, the newest last. Personal data is sealed and not shown.',
  options: {
    '--follow': 'go on with new events until stopped',
    '--after <position>': { text: 'the events after this position, in place of the last ones', read: readPosition },
    '--type <names...>': 'only these types, such as consent.revoked',
    '--kind <name>': 'only this kind of streams, such as consent',
    '--stream <stream>': 'only this stream',
    '--limit <count>': { text: 'how many to print; by default 100, and with --after all', read: readLimit },
    ...sourceOptions,
    '--json': 'print one JSON object on each line',
  },
  example: 'averba log --kind subscription --follow',
  notes: 'Exit codes: 0 printed, or stopped by a signal, 1 not printed.',
  async run(terminal, { follow, after, limit, type, kind, stream, json, ...source }) {
    const hint = 'Events in between would be left out'
    if (follow && after !== undefined)
      rejectOptions({ '--limit': limit }, option => `Cannot use ${option} with --after and --follow`, hint)
    const types = type as (keyof Events)[] | undefined // Checked by the API.
    const filter = { ...(types && { types }), ...(kind && { kind }), ...(stream && { stream }) }
    let printed = 0
    const print = (event: Recorded) => {
      printed += 1
      if (json) printLine(terminal, JSON.stringify(event))
      else printStyled(terminal, formatEvent(terminal, event))
    }
    await lookInto(terminal, source, async averba => {
      let end = await averba.log.end()
      await printPast(averba, filter, { after, limit, end }, print)
      const stopping = follow ? terminal.stopSignal() : AbortSignal.abort()
      while (!stopping.aborted) {
        await systemClock.sleep(followEveryMs, stopping, 'averba log --follow')
        // Of what the filter leaves out, nothing is read again.
        const next = await averba.log.end()
        for await (const event of averba.log.read({ ...filter, after: end })) if (event.position <= next) print(event)
        end = next
      }
    })
    if (!follow && printed === 0) printError(terminal, terminal.say`No events.`)
    return exitCodes.done
  },
})

type LogFilter = NonNullable<Parameters<Averba['log']['read']>[0]>

/** Prints the events after a position, or else the last ones, up to the end of the log when the command began. */
async function printPast(
  { log }: Averba,
  filter: LogFilter,
  { after, limit, end }: Record<'after' | 'limit', number | undefined> & { readonly end: number },
  print: (event: Recorded) => void,
): Promise<void> {
  if (after === undefined) {
    const newest = log.read({ ...filter, after: end + 1, backward: true })
    for (const event of (await takeFirst(newest, limit ?? lastEvents)).reverse()) print(event)
    return
  }
  let left = limit ?? Number.POSITIVE_INFINITY
  for await (const event of log.read({ ...filter, after })) {
    if (event.position > end || left-- === 0) break
    print(event)
  }
}

function formatEvent({ say }: Terminal, event: Recorded): Line {
  const { position, at, stream, type, actor, anomaly } = event
  const by = actor ? ` ${say`by`} ${actor.kind} ${actor.ref}` : ''
  const strange = anomaly === undefined ? '' : ` (${say`unexpected`}: ${say.message(anomaly)})`
  const words = describeEvent(event, getLanguageWords(say.language))
  const text = `${String(position).padStart(6)}  ${formatInstant(at)}  ${stream}  ${type}${by}: ${words}${strange}`
  return { text, ...(anomaly !== undefined && { style: 'yellow' as const }) }
}

export const showCommand = defineCommand({
  usage: 'show <stream>',
  description: 'Show one stream: the state of its machine, its open calls and its last events.',
  arguments: ['such as consent-…: averba log and the lists name them'],
  options: {
    '--known-at <instant or position>': 'as it was known then; by default now',
    ...limitOption,
    ...sourceOptions,
  },
  example: 'averba show subscription-01m7wd7tg0 --known-at 2026-11-20T12:00:00Z',
  notes: 'averba charts --format mermaid draws the machine.\nExit codes: 0 shown, 1 no such stream.',
  async run(terminal, { knownAt, limit, ...source }, stream) {
    const known = knownAt === undefined ? undefined : readMoment(knownAt)
    const shown = await lookInto(terminal, source, averba => readStream(averba, stream, limit, known))
    return { result: shown, lines: formatShown(terminal, stream, shown) }
  },
})

function* formatShown(
  terminal: Terminal,
  stream: string,
  { state, calls, events }: Awaited<ReturnType<typeof readStream>>,
): Iterable<string | Line> {
  const { say } = terminal
  yield { text: say`${stream}, version ${state.version}, known until position ${state.position}`, style: 'bold' }
  for (const each of state.states) yield `  ${each}`
  for (const call of calls) yield { text: `${call.id}  ${call.type}: ${describeWait(say, call)}`, style: 'yellow' }
  for (const event of events) yield formatEvent(terminal, event)
}
