import { existsSync } from 'node:fs'
import { Command } from 'commander'
import { AverbaError, openAverba, proveRecorded } from '../../index.ts'
import { NewFile } from '../new-file.ts'
import { parseRootKey, type RootKeyOption, rootKeyOption } from '../root-key.ts'

interface Options extends RootKeyOption {
  readonly out?: string
  readonly disclose?: boolean
  readonly actor?: string
  readonly purpose?: string
  readonly json?: boolean
}

/** The command `averba prove`. */
export function proveCommand(): Command {
  return new Command('prove')
    .description('Write the proof that one event is in the log: a C2SP tlog-proof, with the event in it.')
    .argument('<store>', 'the file of the log, which may be in use')
    .argument('<event>', 'its position, or its id as <stream>/<version>')
    .option('--out <file>', 'where to write it; overwrites nothing. Standard output otherwise')
    .option('--disclose', 'with its sealed parts, and the keys of its record that open them and nothing else')
    .option('--actor <ref>', 'who discloses it, such as the number of an agent: kept in clear')
    .option('--purpose <text>', 'what for, such as the number of an audit: kept in clear')
    .addOption(rootKeyOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nVerify it with averba verify <file> --key <line>. What is disclosed is for whoever shall read it: its file is\n' +
        'readable for you alone, and the log keeps who disclosed it, and what for.\nExit codes: 0 done, 1 not done.',
    )
    .action(prove)
}

async function prove(store: string, which: string, options: Options): Promise<void> {
  const { out, disclose = false, json = false } = options
  const event = /^\d{1,15}$/.test(which) ? Number(which) : which
  // Before anything is recorded: a disclosure that nobody could be given would stand in the log.
  const file = out === undefined ? undefined : new NewFile(out, disclose ? 0o600 : 0o666)
  const making = disclose
    ? discloseRecorded(store, event, options)
    : proveRecorded({ store, event, ...parseRootKey(options) })
  const proof = await making.catch(error => {
    file?.discard()
    throw error
  })
  const what = disclose ? 'disclosure' : 'proof'
  file?.write(proof)
  if (json)
    console.log(JSON.stringify({ event: which, [what]: proof, ...(out !== undefined && { file: out }) }))
  else console.log(out === undefined ? proof.slice(0, -1) : `${out}: the ${what} of ${which}`)
}

async function discloseRecorded(store: string, event: number | string, options: Options): Promise<string> {
  const { actor: ref, purpose } = options
  if (ref === undefined) throw missingOption('--actor')
  if (purpose === undefined) throw missingOption('--purpose')
  // Opening would create one.
  if (!existsSync(store)) throw new AverbaError('NOT_FOUND', `Cannot open "${store}": it is not there`)
  const { rootKey: keys } = parseRootKey(options)
  const averba = await openAverba({ store, schedules: false, ...(keys && { keys }) })
  try {
    return await averba.audit.disclose(event, { actor: { kind: 'person', ref }, purpose })
  } finally {
    await averba.close()
  }
}

function missingOption(option: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot disclose the event: ${option} is missing`)
}
