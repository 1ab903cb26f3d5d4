import { Command } from 'commander'
import type { Failure } from '../../index.ts'
import { defaultConfig, withConfigured } from '../load-config.ts'
import { printLine } from '../output.ts'

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
    .option('--day <yyyy-MM-dd>', "one of the last thirty days, in Brasilia; by default the portal's today")
    .option('--recover', 'store the notifications that are not in the inbox yet')
    .option('--json', 'print one JSON object, with the sent content, which may be personal data')
    .addHelpText('after', '\nExit codes: 0 the records were read, 1 they were not.')
    .action(failures)
}

async function failures({ config, day, recover = false, json = false }: Options): Promise<void> {
  await withConfigured(config, async ({ subscriptions }) => {
    const found = subscriptions.failures({ recover, ...(day !== undefined && { day }) })
    if (json) return printLine(JSON.stringify({ failures: await found }))
    let count = 0
    for await (const each of found) {
      printLine(formatFailure(each))
      count += 1
    }
    printLine(count === 0 ? 'No delivery failed.' : `${count} failed ${count === 1 ? 'delivery' : 'deliveries'}.`)
  })
}

/** Formats a failure record without its content, which may be personal data. */
function formatFailure({ id, data, evento, descricao, notification, recovery }: Failure): string {
  const result = recovery === null ? 'inbox not checked' : `${recovery}: ${notification}`
  return `${data ?? '(unreadable time)'} ${evento} ${id} ${descricao} (${result})`
}
