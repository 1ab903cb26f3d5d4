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
    .option('--out <file>', 'a new file to write it to; by default standard output')
    .option('--disclose', 'add the sealed parts, and the keys that open only the parts of this event')
    .option('--actor <ref>', 'who discloses it, such as the number of an agent: kept in clear')
    .option('--purpose <text>', 'the purpose, such as the number of an audit: kept in clear')
    .addOption(rootKeyOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nVerify it with averba verify <file> --key <line>. The file of a disclosure can be read only by you, since it\n' +
        'opens personal data; the log records who disclosed it and for what purpose.\nExit codes: 0 done, 1 not done.',
    )
    .action(prove)
}

async function prove(store: string, which: string, options: Options): Promise<void> {
  const { out, disclose = false, json = false } = options
  const event = /^\d{1,15}$/.test(which) ? Number(which) : which
  // Created first: otherwise the log could record a disclosure that then cannot be written.
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
  if (json) console.log(JSON.stringify({ event: which, [what]: proof, ...(out !== undefined && { file: out }) }))
  else console.log(out === undefined ? proof.slice(0, -1) : `${out}: the ${what} of ${which}`)
}

async function discloseRecorded(store: string, event: number | string, options: Options): Promise<string> {
  const { actor: ref, purpose } = options
  if (ref === undefined) throw missingOption('--actor')
  if (purpose === undefined) throw missingOption('--purpose')
  // openAverba would create a new log.
  if (!existsSync(store)) throw new AverbaError('NOT_FOUND', `Cannot open "${store}": the file is missing`)
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
