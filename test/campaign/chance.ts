import { Random } from '../support/random.ts'
import { peopleCount } from './people.ts'

export class Chance extends Random {
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T // Below its length.
  }

  get person(): number {
    return this.below(peopleCount)
  }

  get isTrue(): boolean {
    return this.isOneOf(2)
  }

  isOneOf(count: number): boolean {
    return this.below(count) === 0
  }
}
