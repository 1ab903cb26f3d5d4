import { writeFileSync } from 'node:fs'
import { Command } from 'commander'
import { AverbaError, proveRecorded } from '../index.ts'

/** The command `averba prove`. */
export function proveCommand(): Command {
  return new Command('prove')
    .description('Write the proof that one event is in the log: a C2SP tlog-proof, with the event in it.')
    .argument('<store>', 'the file of the log, which may be in use')
    .argument('<event>', 'its position, or its id as <stream>/<version>')
    .option('--out <file>', 'where to write it; overwrites nothing. Standard output otherwise')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nVerify it with averba verify <file> --key <line>.\nExit codes: 0 done, 1 not done.',
    )
    .action(prove)
}

async function prove(
  store: string,
  event: string,
  { out, json = false }: { out?: string; json?: boolean },
): Promise<void> {
  const proof = await proveRecorded({ store, event: /^\d{1,15}$/.test(event) ? Number(event) : event })
  if (out !== undefined) writeNew(out, proof)
  if (json) console.log(JSON.stringify({ event, proof, ...(out !== undefined && { file: out }) }))
  else console.log(out === undefined ? proof.slice(0, -1) : `${out}: the proof of ${event}`)
}

function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { flag: 'wx' })
  } catch (cause) {
    throw new AverbaError(
      'INVALID_INPUT',
      `Cannot write "${path}": something is there, or it is no place for it`,
      {
        cause,
      },
    )
  }
}
