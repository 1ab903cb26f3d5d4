import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { Command } from 'commander'
import {
  AverbaError,
  type ErasureReceipt,
  openAverba,
  type PartKind,
  type SubjectRef,
  type SubjectSelector,
} from '../../index.ts'
import { formatCount } from '../output.ts'
import { parseRootKey, type RootKeyOption, rootKeyOption } from '../root-key.ts'

interface Options extends RootKeyOption {
  readonly subject?: string
  readonly requester: string
  readonly legalBasis: string
  readonly keep?: readonly string[]
  readonly backupsKept: number
  readonly json?: boolean
}

/** The command `averba erase`. */
export function eraseCommand(): Command {
  return new Command('erase')
    .description(
      'Erase a data subject: the key, the sealed parts and their index entries. All events stay. It cannot be undone.',
    )
    .argument('<store>', 'the file of the log, which may be in use')
    .requiredOption('--requester <ref>', 'who requested it, such as the number of a request: kept in clear')
    .requiredOption('--legal-basis <text>', 'the legal basis, such as "LGPD art. 18, VI": kept in clear')
    .option('--subject <ref>', 'the data subject; without it the CPF is read from standard input')
    .option('--keep <kind...>', 'kinds of parts that the law requires to keep, such as validation.result')
    .option(
      '--backups-kept <days>',
      'how many days you keep backups of the store and its keyring: the backupRetentionDays of your host',
      readDays,
      30,
    )
    .addOption(rootKeyOption())
    .option('--json', 'print the receipt as one JSON object')
    .addHelpText(
      'after',
      '\nA CPF is read from standard input, since command lines appear in process lists and shell histories.\n' +
        'Repeated with --subject and the same --keep, the command prints the first receipt again. Repeated without that\n' +
        '--keep, it erases what was kept. The services are not informed: revoke consents first.\n' +
        'After an interruption, run this command or an engine again: it continues.\n' +
        'Exit codes: 0 complete, 1 not done, or not complete yet.',
    )
    .action(erase)
}

async function erase(store: string, options: Options): Promise<void> {
  const { subject, requester, legalBasis, keep, backupsKept, json = false } = options
  const selector: SubjectSelector =
    subject === undefined ? { cpf: await readCpf() } : { subject: subject as SubjectRef } // Checked by the API.
  const { rootKey: keys } = parseRootKey(options)
  // openAverba would create a new log.
  if (!existsSync(store)) throw new AverbaError('NOT_FOUND', `Cannot open "${store}": the file is missing`)
  const averba = await openAverba({
    store,
    schedules: false,
    backupRetentionDays: backupsKept,
    ...(keys && { keys }),
  })
  try {
    const kinds = keep as readonly PartKind[] | undefined // Checked by the API.
    const receipt = await averba.subjects.erase(selector, {
      requester,
      legalBasis,
      ...(kinds && { keep: kinds }),
    })
    if (json) console.log(JSON.stringify(receipt))
    else printReceipt(receipt)
    if (!receipt.completed) process.exitCode = 1
  } finally {
    await averba.close()
  }
}

/** Rejects an empty text, which must not become 0: with 0 days all older backups can no longer be opened. */
function readDays(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text)
  throw new AverbaError('INVALID_INPUT', 'Cannot use --backups-kept: give a number of up to five digits')
}

/** Reads the first line of standard input. */
async function readCpf(): Promise<string> {
  const lines = createInterface({ input: process.stdin })
  if (process.stdin.isTTY) console.error('CPF:')
  for await (const line of lines) {
    lines.close()
    return line.trim()
  }
  throw new AverbaError('INVALID_INPUT', 'Cannot erase without a subject: give --subject, or a CPF on standard input')
}

function printReceipt({ subject, erasedAt, keeps, destroyed, completed, epochsDestroyedAt }: ErasureReceipt): void {
  const { parts, keys, indexRows, calls } = destroyed
  console.log(
    `Erased ${subject} at ${erasedAt}: ${formatCount(parts.length, 'part')}, ${formatCount(keys, 'key')}, ${formatCount(indexRows, 'index row')}.`,
  )
  if (keeps.length > 0) console.log(`Kept, with the key: ${keeps.join(', ')}.`)
  if (calls.length > 0)
    console.log(`Cancelled ${formatCount(calls.length, 'call')}, pending or unknown: ${calls.join(', ')}.`)
  if (!completed) {
    console.log('Not complete yet: run this command again with --subject, or run an engine.')
    return
  }
  const { rewrapped, epoch, searchedBytes, searchedFor, found, unsearched, copiesOpenUntil } = completed
  console.log(`Renewed with epoch ${epoch}: ${formatCount(rewrapped, 'other key')}.`)
  const pieces = formatCount(searchedFor, 'piece')
  console.log(`${searchedBytes} bytes of the file were searched for ${pieces}: ${found} found.`)
  if (unsearched > 0)
    console.log(`Not searched for, since the file is large: ${formatCount(unsearched, 'other part')}.`)
  if (keys === 0) console.log('As long as the key is kept, backups of the store can open the data.')
  else if (epochsDestroyedAt === null)
    console.log(`Until ${copiesOpenUntil} a backup of the store with a backup of the keyring can open the data.`)
  else console.log(`Since ${epochsDestroyedAt} no backup can open the data.`)
}
