import { printable } from '../printable.ts'

/** Prints one line in which there may be text of others, such as a service's or another log's: a terminal obeys none of it. */
export function print(line: string): void {
  console.log(printable(line))
}
