import { type ReplayResult, replayLog } from '../../index.ts'
import { readMoment } from '../../vocabulary/brasilia.ts'
import { defineCommand, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { findLog, placeOptions } from '../load-config.ts'
import { createProgress } from '../progress.ts'

export const replayCommand = defineCommand({
  usage: 'replay',
  description: 'Repeat every recorded decision, and report the first one with a different result.',
  options: {
    '--until <position or instant>': 'the end, such as 1000 or 2026-01-31, which is the beginning of that day',
    '--against <machine@version>': 'only this machine, including decisions of its other versions',
    ...placeOptions,
  },
  example: 'averba replay --against consent@1',
  notes:
    'Refused commands are not in the log, and are not replayed.\n' +
    'No handler is called: averba notifications replay handles notifications again.\n' +
    'Exit codes: 0 all results are equal, 1 the log cannot be read or nothing was repeated, 2 a result is different.',
  async run(terminal, { until, against, ...source }) {
    const progress = createProgress(terminal)
    const { store, pool } = await findLog(source)
    const result = await replayLog({
      ...{ store, ...(pool && { pool }) },
      ...(until !== undefined && { until: readMoment(until) }),
      ...(against !== undefined && { against }),
      onProgress: (position, end) => progress('replay', position, end),
    })
    return {
      result,
      lines: formatReplay(terminal.say, result),
      code: result.divergence ? exitCodes.attention : result.decisions > 0 ? exitCodes.done : exitCodes.error,
    }
  },
})

function* formatReplay(say: Say, { decisions, otherVersions, position, divergence }: ReplayResult): Iterable<string> {
  yield say`${decisions} decisions up to ${position} were repeated.`
  if (otherVersions > 0) yield say`${otherVersions} were not, since their machine version is not available.`
  if (!divergence && decisions === 0) return yield say`Nothing was repeated: look at --until and --against.`
  if (!divergence) return yield say`All results are equal to the recorded ones.`
  yield say`At ${divergence.position}, in ${divergence.stream}, ${divergence.causedBy} has a different result:`
  yield say`recorded  ${divergence.recorded}`
  yield say`decided   ${divergence.decided}`
}
