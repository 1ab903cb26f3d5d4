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
      'Erase a data subject: key, sealed parts and the ways to find them. The log itself stays whole. It cannot be undone.',
    )
    .argument('<store>', 'the file of the log, which may be in use')
    .requiredOption('--requester <ref>', 'who asked for it, such as the number of a request: kept in clear')
    .requiredOption('--legal-basis <text>', 'on what basis, such as "LGPD art. 18, VI": kept in clear')
    .option('--subject <ref>', 'the data subject; otherwise the CPF is read from standard input')
    .option('--keep <kind...>', 'kinds of parts that the law has kept, such as validation.result')
    .option(
      '--backups-kept <days>',
      "how many days backups of the store and its keyring are kept: your host's own backupRetentionDays",
      readDays,
      30,
    )
    .addOption(rootKeyOption())
    .option('--json', 'print the receipt as one JSON object')
    .addHelpText(
      'after',
      '\nA CPF does not belong into a list of processes or a history: it is read from standard input.\n' +
        'Asked again by --subject, with the --keep of then, it gives the receipt again, with the requester and the basis\n' +
        'of then; without that --keep, what was kept goes now. Services are not told: revoke consents first.\n' +
        'Cut off, the next run of an engine, or of this command, goes on.\nExit codes: 0 complete, 1 not done, or not complete yet.',
    )
    .action(erase)
}

async function erase(store: string, options: Options): Promise<void> {
  const { subject, requester, legalBasis, keep, backupsKept, json = false } = options
  const selector: SubjectSelector =
    subject === undefined ? { cpf: await readCpf() } : { subject: subject as SubjectRef } // Looked up.
  const { rootKey: keys } = parseRootKey(options)
  // Opening would create one.
  if (!existsSync(store)) throw new AverbaError('NOT_FOUND', `Cannot open "${store}": it is not there`)
  const averba = await openAverba({
    store,
    schedules: false,
    backupRetentionDays: backupsKept,
    ...(keys && { keys }),
  })
  try {
    const kinds = keep as readonly PartKind[] | undefined // Checked there.
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

/** An empty text is no number: with 0 days, all older backups stop opening at once. */
function readDays(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text)
  throw new AverbaError('INVALID_INPUT', 'Cannot use --backups-kept: it is a number of up to five digits')
}

/** The first line of standard input. */
async function readCpf(): Promise<string> {
  const lines = createInterface({ input: process.stdin })
  if (process.stdin.isTTY) console.error('CPF:')
  for await (const line of lines) {
    lines.close()
    return line.trim()
  }
  throw new AverbaError(
    'INVALID_INPUT',
    'Cannot tell whom to erase: give --subject, or a CPF on standard input',
  )
}

function printReceipt({
  subject,
  erasedAt,
  keeps,
  destroyed,
  completed,
  epochsDestroyedAt,
}: ErasureReceipt): void {
  const { parts, keys, indexRows, calls } = destroyed
  console.log(
    `Erased ${subject} at ${erasedAt}: ${formatCount(parts.length, 'part')}, ${formatCount(keys, 'key')}, ${formatCount(indexRows, 'index row')}.`,
  )
  if (keeps.length > 0) console.log(`Kept, with the key: ${keeps.join(', ')}.`)
  if (calls.length > 0)
    console.log(`Cancelled ${formatCount(calls.length, 'call')}, owed or in doubt: ${calls.join(', ')}.`)
  if (!completed) {
    console.log('Not complete yet: run this again with --subject, or an engine.')
    return
  }
  const { rewrapped, epoch, searchedBytes, searchedFor, found, unsearched, copiesOpenUntil } = completed
  console.log(`Wrapped anew, by epoch ${epoch}: ${formatCount(rewrapped, 'other key')}.`)
  const pieces = formatCount(searchedFor, 'piece')
  console.log(`${searchedBytes} bytes of the file were searched for ${pieces}: ${found} found.`)
  if (unsearched > 0)
    console.log(`Not searched for, since the file is large: ${formatCount(unsearched, 'other part')}.`)
  if (keys === 0) console.log('While the key is kept, backups of the store open it.')
  else if (epochsDestroyedAt === null)
    console.log(`Until ${copiesOpenUntil} a backup of the store opens it with a backup of the keyring.`)
  else console.log(`No backup opens it since ${epochsDestroyedAt}.`)
}
