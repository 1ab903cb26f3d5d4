/** Does one after the other, also those behind one that fails, and then throws what the first of them failed with. */
export async function inTurn(...works: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failed: unknown[] = []
  for (const work of works) await work().catch((error: unknown) => failed.push(error))
  if (failed.length > 0) throw failed[0]
}
