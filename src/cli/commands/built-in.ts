import { drawCharts, grantsFor, migrationsFrom } from '../../index.ts'
import { defineCommand } from '../command.ts'

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
  async run(_, { from, dialect, schema }) {
    return endWith(await migrationsFrom(Number(from), dialect, schema))
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
  async run(_, { reader, schema }, role) {
    return endWith(await grantsFor({ process: role, schema, ...(reader !== undefined && { reader }) }))
  },
})

function endWith(statements: readonly string[]) {
  return { result: { statements }, lines: statements.flatMap(sql => `${sql};`.split('\n')) }
}
