import { printable } from '../vocabulary/printable.ts'

/** Prints one line that may hold foreign text, as from a service or another log: a terminal obeys none of it. */
export function print(line: string): void {
  console.log(printable(line))
}
