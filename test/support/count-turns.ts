/** Counts the turns of the event loop during some work, and gives its result. */
export async function countTurns<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let [turns, isOver] = [0, false]
  const count = () => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const result = await work()
  isOver = true
  return { result, turns }
}
