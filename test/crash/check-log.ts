import { systemEntropy as entropy } from '../../src/runtime/entropy.ts'
import { verifyStore } from '../../src/store/checks/verify-store.ts'
import { keyringOf } from '../../src/store/database/log-place.ts'
import { Snapshot } from '../../src/store/database/snapshot.ts'
import type { Store } from '../../src/store/store.ts'
import type { Append } from '../../src/store/writing/append.ts'
import { tokens } from '../../src/views/tokens.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import type { RecordedEvent } from '../../src/vocabulary/message.ts'
import type { View } from '../../src/vocabulary/view.ts'
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
    findings.corrupt.push(...(await verifyFile(path)))
    const found = await checkAcknowledged(store, acknowledged)
    findings.corrupt.push(...found.corrupt)
    findings.lost.push(...found.lost)
  } catch (error) {
    findings.corrupt.push(`it cannot be read: ${formatError(error)}`)
  } finally {
    await store.close()
  }
  return findings
}

/** Verifies the file as an auditor does: `test/tamper` shows that this finds every change. */
async function verifyFile(path: string): Promise<string[]> {
  await using reading = await Snapshot.open(path)
  const keyring = keyringOf({ store: path }, entropy)
  const { faults } = await verifyStore(reading, { views: [], isMarkGiven: false, entropy, keyring })
  // The load appends without a machine, so no table says what it may decide.
  return faults.filter(({ check }) => check !== 'legality').map(({ check, examples }) => `${check}: ${examples[0]}`)
}

/** Checks that an open log has what was acknowledged, once and with all that belongs to it, and shows it in its views. */
export async function checkAcknowledged(store: Store, acknowledged: readonly AcknowledgedMessage[]): Promise<Findings> {
  const events: RecordedEvent[] = []
  for (let page = await store.read({}); page.length > 0; page = await store.read({ after: events.length }))
    events.push(...page)
  const corrupt = events.flatMap(({ position }, i) => (position === i + 1 ? [] : [`a gap before ${position}`]))
  corrupt.push(...(await Array.fromAsync(checkCommands(store, events, acknowledged))))
  corrupt.push(...(await Array.fromAsync(checkViews(store))))
  return { lost: findLost(events, acknowledged), corrupt }
}

/** Finds acknowledged events that are missing or differ. */
function findLost(log: readonly RecordedEvent[], acknowledged: readonly AcknowledgedMessage[]): string[] {
  return acknowledged.flatMap(({ commandId, events }) =>
    events
      .filter(({ id, position }) => log[position - 1]?.commandId !== commandId || log[position - 1]?.id !== id)
      .map(({ id, position }) => `${id} at ${position}`),
  )
}

/**
 * Checks that each command of the load is in the log once and completely, or not at all, with its receipt, part and
 * index entry. Repeats some of them, which must get the same answer.
 */
async function* checkCommands(
  store: Store,
  log: readonly RecordedEvent[],
  acknowledged: readonly AcknowledgedMessage[],
): AsyncIterable<string> {
  // Only events of the load say how many belong together.
  const commands = Map.groupBy(
    log.filter(({ data }) => 'of' in Object(data)),
    ({ commandId = '' }) => commandId,
  )
  for (const [commandId, events] of commands) {
    const [first] = events
    const { of } = Object(first?.data)
    if (events.length !== of) yield `the command ${commandId} has ${events.length} events instead of ${of}`
    const receipt = await store.receipt(commandId)
    if (receipt?.position !== events.at(-1)?.position || receipt?.effect !== `${first?.id}/0`)
      yield `the receipt of ${commandId} differs`
    if ((await store.open(`${first?.id ?? ''}/secret`)) !== commandId) yield `the part of ${commandId} differs`
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
