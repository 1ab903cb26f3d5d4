/** Takes a line of what a benchmark does. */
export type Say = (line: string) => void

/** What a benchmark measured, by key. */
export type Figures = Readonly<Record<string, number>>

/** How many rounds count, after one to warm up. */
const rounds = 7

/** The middle value: what a slow moment of the machine does not reach. */
export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [upper = 0, lower = upper] = [sorted[middle], sorted[middle - 1]]
  return sorted.length % 2 === 1 ? upper : (upper + lower) / 2
}

/** Runs work that does `count` things, and says how many it did in a second. */
export async function rateOf(count: number, work: () => unknown): Promise<number> {
  const started = performance.now()
  await work()
  return count / ((performance.now() - started) / 1_000)
}

/** A variant to measure: one round of it, as a rate per second. */
export type Variant = () => Promise<number>

/**
 * Runs variants in turn, round after round, in rotated order, so that each meets the same moments of the machine.
 *
 * @returns the rates of every counted round, by variant
 */
export async function interleave<N extends string>(
  variants: Readonly<Record<N, Variant>>,
  say: Say,
  count: number = rounds,
): Promise<Record<N, number[]>> {
  const names = Object.keys(variants) as N[] // As they are declared.
  const rates = Object.fromEntries(names.map(name => [name, []])) as unknown as Record<N, number[]> // One each.
  for (let round = 0; round <= count; round++) {
    const turn = names.map((_, i) => names[(i + round) % names.length] as N) // Within the row.
    const line: string[] = []
    for (const name of turn) {
      const rate = await variants[name]()
      line.push(`${name} ${Math.round(rate)}/s`)
      if (round > 0) rates[name].push(rate)
    }
    say(`  round ${round}${round === 0 ? ' (to warm up)' : ''}: ${line.sort().join(', ')}`)
  }
  return rates
}

/** The median of the ratios of each round. */
export function ratioOf(rates: readonly number[], base: readonly number[]): number {
  return Number(medianOf(rates.map((rate, i) => rate / (base[i] ?? Number.NaN))).toFixed(3))
}
