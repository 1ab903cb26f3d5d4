import { drawCharts, grantsFor, migrationsFrom } from '../../index.ts'
import { defineCommand, exitCodes } from '../command.ts'
import { printLine } from '../output.ts'
import type { Terminal } from '../terminal.ts'

export const chartsCommand = defineCommand({
  usage: 'charts [machine...]',
  description: 'Print the state machines, for the tools of Stately or as Mermaid diagrams.',
  arguments: ['the machines; by default all'],
  options: {
    '--format <name>': { text: 'the form', choices: ['json', 'mermaid'], fallback: 'json' },
  },
  example: 'averba charts consent --format mermaid',
  async run(_, { format }, names) {
    const drawn = await drawCharts(names, format)
    const charts = format === 'json' ? drawn.map(each => JSON.parse(each)) : drawn
    return { result: { charts }, lines: drawn.join('\n').split('\n') }
  },
})

export const migrationsCommand = defineCommand({
  usage: 'migrations',
  description: 'Print the SQL statements that migrate the tables of a store to this version. Runs none.',
  options: {
    '--from <version>': { text: 'the present version of the tables; 0 is an empty database', fallback: '0' },
    '--dialect <name>': { text: 'the database', choices: ['sqlite', 'postgres'], fallback: 'sqlite' },
    '--schema <name>': { text: 'the schema on PostgreSQL', fallback: 'averba' },
  },
  example: 'averba migrations --dialect postgres',
  async run(terminal, { from, dialect, schema, json }) {
    return printStatements(terminal, await migrationsFrom(Number(from), dialect, schema), json)
  },
})

export const grantsCommand = defineCommand({
  usage: 'grants <role>',
  description: 'Print the SQL statements that give a role the least rights with which its processes work. Runs none.',
  arguments: ['the role of the processes on PostgreSQL'],
  options: {
    '--reader <role>': 'another role, which may read: for audits and reports',
    '--schema <name>': { text: 'the schema of the log', fallback: 'averba' },
  },
  example: 'averba grants averba_app --reader auditor',
  notes:
    'The owner of the tables runs them, as a superuser or a member of these roles, once the tables are there: after ' +
    'averba migrations --dialect postgres, or the first opening. The role can neither change nor remove an event.',
  async run(terminal, { reader, schema, json }, role) {
    const readers = reader !== undefined && { reader }
    return printStatements(terminal, await grantsFor({ process: role, schema, ...readers }), json)
  },
})

function printStatements(terminal: Terminal, statements: readonly string[], json: boolean): number {
  if (json) printLine(terminal, JSON.stringify({ statements }))
  else for (const sql of statements) terminal.stdout.write(`${sql};\n`)
  return exitCodes.done
}
