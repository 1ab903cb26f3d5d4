import { Command } from 'commander'
import type { Failure } from '../../index.ts'
import { defaultConfig, withConfigured } from '../load-config.ts'
import { printSafely } from '../output.ts'

interface Options {
  readonly config: string
  readonly day?: string
  readonly recover?: boolean
  readonly json?: boolean
}

/** The command `averba failures`. */
export function failuresCommand(): Command {
  return new Command('failures')
    .description('Read the failure records of a day at the portal: deliveries that did not reach you.')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option('--day <yyyy-MM-dd>', "a day in Brasilia, of the last thirty; the portal's today otherwise")
    .option('--recover', 'put what is in no inbox yet into it')
    .option('--json', 'print one JSON object, with what was sent: it may be personal data')
    .addHelpText('after', '\nExit codes: 0 they were read, 1 they were not.')
    .action(failures)
}

async function failures({ config, day, recover = false, json = false }: Options): Promise<void> {
  const asked = { recover, ...(day !== undefined && { day }) }
  await withConfigured(config, async ({ subscriptions }) => {
    const found = subscriptions.failures(asked)
    // One JSON object holds them all.
    if (json) return printSafely(JSON.stringify({ failures: await found }))
    let count = 0
    for await (const each of found) {
      printSafely(formatFailure(each))
      count += 1
    }
    printSafely(
      count === 0 ? 'No delivery failed.' : `${count} failed ${count === 1 ? 'delivery' : 'deliveries'}.`,
    )
  })
}

/** Without the content, which may be personal data. */
function formatFailure({ id, data, evento, descricao, notification, recovery }: Failure): string {
  const became = recovery === null ? 'not looked for in the inbox' : `${recovery}: ${notification}`
  return `${data ?? 'at a time that cannot be read'} ${evento} ${id} ${descricao} (${became})`
}
