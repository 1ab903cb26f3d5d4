import type { Store } from '../../src/store/store.ts'
import type { Append } from '../../src/store/writing/append.ts'
import { tokens } from '../../src/views/tokens.ts'
import { views } from '../../src/views/views.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import type { View } from '../../src/vocabulary/view.ts'
import { checkTables, type Header } from './check-tables.ts'
import type { Findings } from './findings.ts'
import { type Acknowledged, appendOf, openStore } from './load.ts'

/** How many commands are sent once more, to hear the same answer: the newest, where a crash would show. */
const askedAgain = 20
/** A seed that no load has. */
const checkSeed = 0xc4ec

/**
 * Opens a log after a fault, as its owner would, and checks all that it promises. The file is changed: give a
 * copy where it is needed again.
 */
export async function checkLog(
  path: string,
  acknowledged: readonly Acknowledged[],
  which: readonly View[] = [tokens],
): Promise<Findings> {
  const findings: Findings = { lost: [], corrupt: [] }
  let store: Store
  try {
    store = await openStore(path, checkSeed, which)
  } catch (error) {
    findings.corrupt.push(`it does not open: ${describe(error)}`)
    findings.lost.push(...acknowledged.map(each => each.commandId))
    return findings
  }
  try {
    const { headers, corrupt } = checkTables(path)
    findings.corrupt.push(...corrupt, ...checkWhole(headers))
    findings.lost.push(...lostOf(headers, acknowledged))
    for await (const wrong of checkAnswers(store, headers, acknowledged)) findings.corrupt.push(wrong)
    for await (const wrong of checkViews(store)) findings.corrupt.push(wrong)
  } catch (error) {
    findings.corrupt.push(`it cannot be read: ${describe(error)}`)
  } finally {
    await store.close()
  }
  return findings
}

/** Every view of the library, for logs that the whole engine wrote. */
export const allViews: readonly View[] = views

/** Acknowledged events that are not there, or not as they were. */
function lostOf(headers: readonly Header[], acknowledged: readonly Acknowledged[]): string[] {
  return acknowledged.flatMap(({ commandId, events }) =>
    events
      .filter(({ id, position }) => {
        const header = headers[position - 1]
        return header?.commandId !== commandId || `${header.stream}/${header.version}` !== id
      })
      .map(({ id, position }) => `${id} at ${position}`),
  )
}

/** A command is there once and whole, or not at all: acknowledged or not. */
function* checkWhole(headers: readonly Header[]): Iterable<string> {
  const counts = new Map<string, { count: number; of: number }>()
  for (const { commandId, data } of headers) {
    if (commandId === undefined || data.of === undefined) continue
    const { count } = counts.get(commandId) ?? { count: 0 }
    counts.set(commandId, { count: count + 1, of: data.of })
  }
  for (const [commandId, { count, of }] of counts) {
    if (count !== of) yield `the command ${commandId} has ${count} events instead of ${of}`
  }
}

/** Receipts, parts and claims of every command that is there, and the answers to some that are sent again. */
async function* checkAnswers(
  store: Store,
  headers: readonly Header[],
  acknowledged: readonly Acknowledged[],
): AsyncIterable<string> {
  const lasts = new Map<string, Header>()
  const firsts = new Map<string, Header>()
  for (const header of headers) {
    if (header.commandId === undefined || header.data.of === undefined) continue
    lasts.set(header.commandId, header)
    if (!firsts.has(header.commandId)) firsts.set(header.commandId, header)
  }
  for (const [commandId, { stream, version }] of firsts) {
    const receipt = await store.receipt(commandId)
    if (receipt?.position !== lasts.get(commandId)?.position || receipt?.effect !== `${stream}/${version}/0`)
      yield `the receipt of ${commandId} is another one`
    if ((await store.open(`${stream}/${version}/secret`)) !== commandId)
      yield `the part of ${commandId} is another`
    if ((await store.lookUp('crash', commandId)) !== commandId)
      yield `the claim of ${commandId} is another one`
  }
  // A command that is lost was counted already.
  for (const { commandId, events } of acknowledged
    .filter(each => lasts.has(each.commandId))
    .slice(-askedAgain)) {
    const streams: Append['streams'] = [{ stream: 'token-again', expect: 'none' }]
    const again = await store.append(appendOf(store, commandId, streams))
    const position = events.at(-1)?.position
    if (again.status !== 'known' || again.receipt.position !== position || again.receipt.code !== 'accepted')
      yield `the command ${commandId} has another answer now: ${again.status}`
  }
}

/** Every view runs, and building it anew changes nothing. */
async function* checkViews(store: Store): AsyncIterable<string> {
  for (const { view, isRunning, reason } of await store.checkpoints()) {
    if (!isRunning) yield `the view ${view} stands still: ${reason}`
  }
  for (const { view, differences, examples } of await store.rebuild()) {
    if (differences > 0)
      yield `${differences} rows of ${view} are not those of a replay, such as ${examples[0]}`
  }
}

function describe(error: unknown): string {
  if (error instanceof AverbaError) return `${error.code} ${error.message}`
  return String(error)
}
