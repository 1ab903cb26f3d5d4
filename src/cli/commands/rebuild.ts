import { Command } from 'commander'
import { rebuildStore } from '../../index.ts'
import { printLine } from '../output.ts'
import { createProgress } from '../progress.ts'
import { parseRootKey, type RootKeyOption, rootKeyOption } from '../root-key.ts'

/** The command `averba rebuild`. */
export function rebuildCommand(): Command {
  return new Command('rebuild')
    .description('Rebuild the views from the log, while the present ones serve, and report which rows differed.')
    .argument('<store>', 'the file of the log, which may be in use')
    .option('--view <name...>', 'only these views')
    .addOption(rootKeyOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nCtrl-C interrupts it; the next rebuild continues from there.' +
        '\nExit codes: 0 rebuilt and equal, 1 rows differed and were corrected, or it was interrupted.',
    )
    .action(rebuild)
}

async function rebuild(
  store: string,
  options: RootKeyOption & { view?: readonly string[]; json?: boolean },
): Promise<void> {
  const { view: views, json = false } = options
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  const rebuilt = await rebuildStore({
    store,
    ...(views && { views }),
    ...parseRootKey(options),
    signal: stop.signal,
    onProgress: createProgress(),
  })
  const isWhole = !stop.signal.aborted
  if (!isWhole || rebuilt.some(each => each.differences > 0)) process.exitCode = 1
  if (json) return printLine(JSON.stringify({ isWhole, views: rebuilt }))
  for (const { view: name, rows, differences, examples } of rebuilt) {
    printLine(
      `${name}: ${rows} ${rows === 1 ? 'row' : 'rows'}, ${differences === 0 ? 'as they were' : `${differences} differed`}`,
    )
    for (const key of examples) printLine(`  ${key}`)
  }
  if (!isWhole) printLine('Interrupted: the next rebuild continues from here.')
}
