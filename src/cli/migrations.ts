import { Command } from 'commander'
import { migrationsFrom } from '../index.ts'

/** The command `averba migrations`. */
export function migrationsCommand(): Command {
  return new Command('migrations')
    .description('Print the statements that bring the tables of a store to this version. Runs none of them.')
    .option('--from <version>', 'the version of the tables; 0 is an empty database', '0')
    .option('--dialect <name>', 'sqlite or postgres', 'sqlite')
    .action(({ from, dialect }: { from: string; dialect: string }) => {
      for (const sql of migrationsFrom(Number(from), dialect)) console.log(`${sql};`)
    })
}
