import { Command } from 'commander'
import { migrationsFrom } from '../../index.ts'

/** The command `averba migrations`. */
export function migrationsCommand(): Command {
  return new Command('migrations')
    .description('Print the SQL statements that migrate the tables of a store to this version. Runs none.')
    .option('--from <version>', 'the present version of the tables; 0 is an empty database', '0')
    .option('--dialect <name>', 'sqlite or postgres', 'sqlite')
    .option('--json', 'print one JSON object')
    .action(({ from, dialect, json = false }: { from: string; dialect: string; json?: boolean }) => {
      const statements = migrationsFrom(Number(from), dialect)
      if (json) return console.log(JSON.stringify({ statements }))
      for (const sql of statements) console.log(`${sql};`)
    })
}
