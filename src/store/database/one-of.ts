/** The condition that a column has one of some values, given as parameters. Not every dialect takes a list of none. */
export function oneOf(column: string, values: readonly unknown[]): string {
  return values.length === 0 ? 'false' : `${column} in (${values.map(() => '?')})`
}
