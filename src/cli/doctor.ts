import { Command } from 'commander'
import { type Diagnosis, diagnoseStore } from '../index.ts'
import { describeBytes, describeOwed } from './describe-owed.ts'
import { createProgress } from './progress.ts'

/** The command `averba doctor`. */
export function doctorCommand(): Command {
  return new Command('doctor')
    .description(
      'Look at a store, which may be in use, without writing to it: its size, growth, debts and faults.',
    )
    .argument('<store>', 'the file of the log, or a backup of one')
    .option('--deep', 'compare everything in it with everything else: reads the whole file')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExit codes: 0 all is well, 1 something is wrong or it cannot be opened.')
    .action(doctor)
}

async function doctor(
  store: string,
  { json = false, deep = false }: { json?: boolean; deep?: boolean },
): Promise<void> {
  const found = await diagnoseStore({ store, isDeep: deep, onProgress: createProgress() })
  if (found.problems.length > 0) process.exitCode = 1
  if (json) console.log(JSON.stringify(found))
  else for (const line of describe(found)) console.log(line)
}

function* describe(found: Diagnosis): Iterable<string> {
  const { fileBytes, walBytes, freeBytes, position, since, at, bytesPerEvent, keys, checked } = found
  const size = [fileBytes, walBytes, freeBytes].map(describeBytes)
  yield `file     ${size[0]}, and ${size[1]} in its -wal; ${size[2]} of it free`
  yield `log      ${found.origin}: ${position} events from ${since} to ${at}`
  yield `event    ${bytesPerEvent} bytes each, everything counted in`
  for (const { month, events, bytes } of found.months)
    yield `growth   ${month}: ${events} events, about ${describeBytes(bytes)}`
  const epochs = `${keys.epochs?.join(', ') ?? 'unknown'}; needed: ${found.epochs.join(', ') || 'none yet'}`
  yield keys.isPresent
    ? `keyring  ${keys.path}: ${keys.id ?? 'unreadable'}, mode ${keys.mode}, epochs ${epochs}`
    : `keyring  ${keys.path} is not there`
  for (const { view, version, position: at, isRunning } of found.views)
    yield `view     ${view}, version ${version}, ${isRunning ? 'at' : 'stands still at'} ${at}`
  yield found.owed.length === 0 ? 'owed     nothing' : 'owed'
  yield* describeOwed(found.owed)
  const pragmas = Object.entries(found.pragmas).map(([name, value]) => `${name} ${value}`)
  yield `pragmas  ${pragmas.join(', ')}`
  if (checked)
    yield `checked  ${checked.events} events, ${checked.parts} parts, ${checked.archivedParts} in bundles`
  yield found.problems.length === 0 ? 'Nothing is wrong.' : 'WRONG:'
  for (const problem of found.problems) yield `  ${problem}`
}
