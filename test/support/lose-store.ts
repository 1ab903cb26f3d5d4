import { rmSync } from 'node:fs'

/** Loses the file of a closed log, with what SQLite keeps beside it. Its keyring and its mark stay. */
export function loseStore(store: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(`${store}${end}`, { force: true })
}
