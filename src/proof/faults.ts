/** The subject of a check. */
export type CheckName =
  | 'file'
  | 'schema'
  | 'references'
  | 'end'
  | 'positions'
  | 'versions'
  | 'headers'
  | 'leaves'
  | 'tags'
  | 'tree'
  | 'parts'
  | 'effects'
  | 'receipts'
  | 'index'
  | 'views'
  | 'keys'
  | 'origin'
  | 'signatures'
  | 'checkpoints'
  | 'anchors'
  | 'legality'
  | 'mark'
  | 'bundle'

/** The faults that one check found: how many, and up to ten of them in words, without personal data. */
export interface Fault {
  readonly check: CheckName
  readonly count: number
  readonly examples: readonly string[]
}

const examplesMax = 10

/** Collects the faults that checks find. It keeps only a few examples for each check, so its size is bounded. */
export class Faults {
  readonly #found = new Map<CheckName, { count: number; examples: string[] }>()

  add(check: CheckName, example: string): void {
    const found = this.#found.get(check) ?? { count: 0, examples: [] }
    found.count += 1
    if (found.count <= examplesMax) found.examples.push(example)
    this.#found.set(check, found)
  }

  addAll(faults: readonly Fault[]): void {
    for (const { check, count, examples } of faults) {
      for (const example of examples) this.add(check, example)
      const found = this.#found.get(check)
      if (found) found.count += count - examples.length
    }
  }

  list(): Fault[] {
    return [...this.#found].map(([check, found]) => ({ check, ...found }))
  }
}
