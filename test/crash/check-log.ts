import type { Store } from '../../src/store/store.ts'
import type { Append } from '../../src/store/writing/append.ts'
import { tokens } from '../../src/views/tokens.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import type { View } from '../../src/vocabulary/view.ts'
import { checkTables, type Header } from './check-tables.ts'
import type { Findings } from './findings.ts'
import { type AcknowledgedMessage, createAppend, openStore } from './load.ts'

/** How many of the newest commands are repeated: a crash would affect these. */
const repeatedCount = 20
/** A seed that no load uses. */
const checkSeed = 0xc4ec

/**
 * Opens a log after a fault, as its owner would, and checks all its guarantees. This changes the file, so pass a copy
 * if it is needed again.
 */
export async function checkLog(
  path: string,
  acknowledged: readonly AcknowledgedMessage[],
  ownViews: readonly View[] = [tokens],
): Promise<Findings> {
  let store: Store
  try {
    store = await openStore(path, checkSeed, ownViews)
  } catch (error) {
    // A log that says what it lost is whole.
    const isTold = error instanceof AverbaError && error.code === 'ROLLED_BACK'
    const corrupt = isTold ? [] : [`it does not open: ${formatError(error)}`]
    return { lost: acknowledged.map(each => each.commandId), corrupt }
  }
  const findings: Findings = { lost: [], corrupt: [] }
  try {
    const { headers, corrupt } = checkTables(path)
    findings.corrupt.push(...corrupt)
    const found = await checkAcknowledged(store, headers, acknowledged)
    findings.corrupt.push(...found.corrupt)
    findings.lost.push(...found.lost)
  } catch (error) {
    findings.corrupt.push(`it cannot be read: ${formatError(error)}`)
  } finally {
    await store.close()
  }
  return findings
}

/** Checks that an open log has what was acknowledged, once and with all that belongs to it, and shows it in its views. */
export async function checkAcknowledged(
  store: Store,
  headers: readonly Header[],
  acknowledged: readonly AcknowledgedMessage[],
): Promise<Findings> {
  const corrupt = await Array.fromAsync(checkCommands(store, headers, acknowledged))
  corrupt.push(...(await Array.fromAsync(checkViews(store))))
  return { lost: findLost(headers, acknowledged), corrupt }
}

/** Finds acknowledged events that are missing or differ. */
function findLost(headers: readonly Header[], acknowledged: readonly AcknowledgedMessage[]): string[] {
  return acknowledged.flatMap(({ commandId, events }) =>
    events.flatMap(({ id, position }) => {
      const header = headers[position - 1]
      const isThere = header?.commandId === commandId && `${header.stream}/${header.version}` === id
      return isThere ? [] : [`${id} at ${position}`]
    }),
  )
}

/** The events of each command of the load. */
function eventsOfCommands(headers: readonly Header[]): Map<string, [Header, ...Header[]]> {
  const commands = new Map<string, [Header, ...Header[]]>()
  for (const header of headers) {
    if (header.commandId === undefined || header.data.of === undefined) continue
    const own = commands.get(header.commandId)
    if (own) own.push(header)
    else commands.set(header.commandId, [header])
  }
  return commands
}

/**
 * Checks that each command is in the log once and completely, or not at all, with its receipt, part and index entry.
 * Repeats some of them, which must get the same answer.
 */
async function* checkCommands(
  store: Store,
  headers: readonly Header[],
  acknowledged: readonly AcknowledgedMessage[],
): AsyncIterable<string> {
  const commands = eventsOfCommands(headers)
  for (const [commandId, events] of commands) {
    const [{ stream, version, data }] = events
    if (events.length !== data.of) yield `the command ${commandId} has ${events.length} events instead of ${data.of}`
    const receipt = await store.receipt(commandId)
    if (receipt?.position !== events.at(-1)?.position || receipt?.effect !== `${stream}/${version}/0`)
      yield `the receipt of ${commandId} differs`
    if ((await store.open(`${stream}/${version}/secret`)) !== commandId) yield `the part of ${commandId} differs`
    if ((await store.lookUp('crash', commandId)) !== commandId) yield `the index entry of ${commandId} differs`
  }
  // Lost commands were counted already.
  for (const { commandId, events } of acknowledged.filter(each => commands.has(each.commandId)).slice(-repeatedCount)) {
    const streams: Append['streams'] = [{ stream: 'token-again', expect: 'none' }]
    const again = await store.append(createAppend(store, commandId, streams))
    const position = events.at(-1)?.position
    if (again.status !== 'known' || again.receipt.position !== position || again.receipt.code !== 'accepted')
      yield `the command ${commandId} has another answer now: ${again.status}`
  }
}

/** Checks that every view is running, and that a rebuild changes no row. */
async function* checkViews(store: Store): AsyncIterable<string> {
  for (const { view, isRunning, reason } of await store.viewProgress()) {
    if (!isRunning) yield `the view ${view} is stopped: ${reason}`
  }
  for (const { view, differences, examples } of await store.rebuild()) {
    if (differences > 0) yield `${differences} rows of ${view} differ from a replay, such as ${examples[0]}`
  }
}

export function formatError(error: unknown): string {
  return error instanceof AverbaError ? `${error.code} ${error.message}` : String(error)
}
