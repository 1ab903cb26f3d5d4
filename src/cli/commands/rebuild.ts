import { type RebuildResult, rebuildStore } from '../../index.ts'
import { defineCommand, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { findLog, sourceOptions } from '../load-config.ts'
import { createProgress } from '../progress.ts'

export const rebuildCommand = defineCommand({
  usage: 'rebuild',
  description: 'Rebuild the views from the log, while the present ones serve, and report which rows differed.',
  options: { '--view <name...>': 'only these views', ...sourceOptions },
  example: 'averba rebuild --store averba.sqlite',
  notes:
    'Ctrl-C interrupts it; the next rebuild continues from there.\n' +
    'Exit codes: 0 rebuilt and equal, 1 rows differed and were corrected, or it was interrupted.',
  async run(terminal, { view: names, ...source }) {
    const signal = terminal.stopSignal()
    const onProgress = createProgress(terminal)
    const log = await findLog(source)
    const views = await rebuildStore({ ...log, ...(names && { views: names }), signal, onProgress })
    const isWhole = !signal.aborted
    const isDone = isWhole && views.every(each => each.differences === 0)
    const code = isDone ? exitCodes.done : exitCodes.error
    return { result: { isWhole, views }, lines: formatRebuilt(terminal.say, views, isWhole), code }
  },
})

function* formatRebuilt(say: Say, rebuilt: readonly RebuildResult[], isWhole: boolean): Iterable<string> {
  for (const { view: name, rows, differences, examples } of rebuilt) {
    yield `${name}: ${say.count(rows, 'row')}, ${differences === 0 ? say`as they were` : say`${differences} differed`}`
    for (const key of examples) yield `  ${key}`
  }
  if (!isWhole) yield say`Interrupted: the next rebuild continues from here.`
}
