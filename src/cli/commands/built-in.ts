import { drawCharts, migrationsFrom } from '../../index.ts'
import { defineCommand } from '../command.ts'
import { printLine } from '../output.ts'
import { exitCodes } from '../terminal.ts'

/** The command `averba charts`. */
export const chartsCommand = defineCommand({
  usage: 'charts [machine...]',
  description: 'Print the state machines, for the tools of Stately or as Mermaid diagrams.',
  arguments: ['the machines; by default all'],
  options: {
    '--format <name>': { text: 'json, with one machine on each line, or mermaid', fallback: 'json' },
  },
  run(terminal, { format }, names) {
    for (const line of drawCharts(names, format).join('\n').split('\n')) printLine(terminal, line)
    return exitCodes.done
  },
})

/** The command `averba migrations`. */
export const migrationsCommand = defineCommand({
  usage: 'migrations',
  description: 'Print the SQL statements that migrate the tables of a store to this version. Runs none.',
  options: {
    '--from <version>': { text: 'the present version of the tables; 0 is an empty database', fallback: '0' },
    '--dialect <name>': { text: 'sqlite or postgres', fallback: 'sqlite' },
    '--json': 'print one JSON object',
  },
  run(terminal, { from, dialect, json }) {
    const statements = migrationsFrom(Number(from), dialect)
    if (json) printLine(terminal, JSON.stringify({ statements }))
    else for (const sql of statements) terminal.stdout.write(`${sql};\n`)
    return exitCodes.done
  },
})
